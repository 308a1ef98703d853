import Base
import HTTP
import QRCode
import Store

/// `GET /api/pair/info`: what the QR code holds, and when its token expires.
///
/// - Throws: ``Failure/foreignPage``.
func getPairingInfo(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.checkOrigin(of: request)
  let info = try context.pairingInfo()
  return .json { json in info.write(into: &json) }
}

/// `GET /api/pair/qr`: the QR code as a PNG of `?size=` pixels a side, 1 to 512, else 256.
///
/// - Throws: ``Failure/foreignPage``.
func getPairingCode(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.checkOrigin(of: request)
  let size = request.queryItem("size").flatMap { Int($0) } ?? 0
  let symbol = try QRSymbol(context.pairingInfo().qrContent)
  return Response(
    status: 200,
    fields: [
      ("Content-Type", "image/png"), ("Cache-Control", "no-cache, no-store, must-revalidate"),
      ("X-Content-Type-Options", "nosniff"),
    ],
    body: symbol.png(size: 1...512 ~= size ? size : 256))
}

/// `POST /api/pair/refresh`: revokes every pairing token that no phone has used, and answers a new
/// one. `{"revoke":"all"}` revokes paired phones too.
///
/// - Throws: ``Failure/foreignPage``; ``Failure/invalidPairingBody``; ``Failure/noTokensHere``.
func replacePairingTokens(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let revoke: String?
  }
  try context.checkOrigin(of: request)
  let body =
    request.body.isEmpty
    ? nil : try request.decode(Body?.self, orSay: Failure.invalidPairingBody.message)
  guard body?.revoke == nil || body?.revoke == "all" else { throw Failure.invalidPairingBody }
  let token = try context.replacePairingTokens(endingPairings: body?.revoke == "all")
  return .json { json in
    json.member("token", token.text)
    json.member("expires_at", token.expiresAt.rfc3339)
    json.member("message", "All previous tokens have been revoked")
  }
}

/// `GET /pair`: a page with the QR code.
///
/// - Throws: ``Failure/foreignPage``.
func getPairingPage(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.checkOrigin(of: request)
  return PairingPage(try context.pairingInfo()).response
}

/// `POST /pair`: the page's button, which works without scripts. It does what
/// `POST /api/pair/refresh` does.
///
/// - Throws: ``Failure/foreignPage``; ``Failure/noTokensHere``.
func renewPairingPage(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.checkOrigin(of: request)
  _ = try context.replacePairingTokens(endingPairings: false)
  return Response(status: 303, fields: [("Location", "/pair")])
}

extension Context {
  var pairingIssuer: PairingIssuer {
    PairingIssuer(keys: settings.credentialKeys, randomBytes: random(PairingToken.idSize))
  }

  fileprivate func pairingInfo() throws -> PairingInfo {
    try records.pairingTokens.info(of: settings.agent, issuer: pairingIssuer)
  }

  fileprivate func replacePairingTokens(endingPairings: Bool) throws -> SignedPairingToken {
    guard settings.agent.requiresAuth else { throw Failure.noTokensHere }
    return try records.pairingTokens.replaceAll(
      endingPairings: endingPairings, issuer: pairingIssuer)
  }

  /// Refuses what a page of a stranger sends through a browser on this machine: these routes hand out
  /// tokens to whoever can reach them. So the request must name the site in a way that no stranger's
  /// page can (against DNS rebinding), and a page that sends it must be ours (against CSRF).
  ///
  /// - Throws: ``Failure/foreignPage``.
  fileprivate func checkOrigin(of request: Request) throws {
    guard let authority = request.field("Host")?.lowercased(), !authority.isEmpty else { return }
    guard let url = WebURL("http://\(authority)"), url.rest.isEmpty else {
      throw Failure.foreignPage
    }
    let isOwn = url.host == "localhost" || url.host == WebURL(settings.agent.publicURL)?.host
    guard isOwn || url.hasAddress else { throw Failure.foreignPage }
    guard let origin = request.field("Origin")?.lowercased() else { return }
    guard origin == "http://\(authority)" || origin == "https://\(authority)" else {
      throw Failure.foreignPage
    }
  }
}

extension WebURL {
  /// Whether the host is an IP address.
  fileprivate var hasAddress: Bool {
    host.hasPrefix("[") || host.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
  }
}

extension Failure {
  fileprivate static let foreignPage = Failure.forbidden(
    "Open this under the site's own name or address, from one of the site's own pages")
}

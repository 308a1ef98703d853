import Base
import HTTP
import QRCode
import Store

/// `GET /api/pair/info`: what the QR code holds, and when its token expires.
///
/// - Throws: ``Failure/foreignPage``.
func getPairingInfo(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.admitPage(request)
  let info = try context.pairingInfo()
  return .json { json in info.write(into: &json) }
}

/// `GET /api/pair/qr`: the QR code as a PNG of `?size=` pixels a side, 1 to 512, else 256.
///
/// - Throws: ``Failure/foreignPage``.
func getPairingCode(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.admitPage(request)
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
/// one; with `{"revoke":"all"}` paired phones are out too.
///
/// - Throws: ``Failure/foreignPage``; ``Failure/badRequest(_:)``; ``Failure/noTokensHere``.
func replacePairingTokens(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let revoke: String?
  }
  try context.admitPage(request)
  let body = request.body.isEmpty ? nil : try request.decode(Body?.self, orSay: invalidBody)
  guard body?.revoke == nil || body?.revoke == "all" else { throw Failure.badRequest(invalidBody) }
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
  try context.admitPage(request)
  return PairingPage(try context.pairingInfo()).response
}

/// `POST /pair`: the page's button, which works without scripts; what `POST /api/pair/refresh` does.
///
/// - Throws: ``Failure/foreignPage``; ``Failure/noTokensHere``.
func renewPairingPage(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.admitPage(request)
  _ = try context.replacePairingTokens(endingPairings: false)
  return Response(status: 303, fields: [("Location", "/pair")])
}

/// `GET /api/status`: that the site works, and for whom it is.
///
/// - Throws: ``Failure/unauthorized(_:)``.
func getStatus(_ request: Request, in context: borrowing Context) throws -> Response {
  guard try context.admission(of: request) == .admitted else { throw Failure.notAdmitted }
  let session = try context.database.pairingSession()
  return .json { json in
    json.member("status", "ok")
    json.member("session", session)
    json.member("repo", context.settings.agent.repo)
    json.member("auth_required", context.settings.agent.requiresAuth)
  }
}

let invalidBody = "Invalid request body"

extension Context {
  var minting: Minting {
    Minting(keys: settings.credentialKeys, randomBytes: random(PairingToken.idSize), now: now)
  }

  fileprivate func pairingInfo() throws -> PairingInfo {
    try database.pairingInfo(of: settings.agent, minting)
  }

  fileprivate func replacePairingTokens(
    endingPairings everything: Bool
  ) throws -> PairingInfo.SignedToken {
    guard settings.agent.requiresAuth else { throw Failure.noTokensHere }
    return try database.replacePairingTokens(endingPairings: everything, from: origin, minting)
  }

  /// What hands out tokens answers whoever can reach it, and a browser on this machine can: so it
  /// must be asked for by a name that no stranger's page can have (DNS rebinding), and a change by
  /// a page of ours (CSRF).
  ///
  /// - Throws: ``Failure/foreignPage``.
  fileprivate func admitPage(_ request: Request) throws {
    guard let authority = request.field("Host")?.lowercased() else { return }
    let own = settings.agent.publicURL.lowercased().split(separator: "/").dropFirst().first ?? ""
    let host = Self.host(of: authority)
    let isAddress = host.hasPrefix("[") || host.utf8.allSatisfy { 0x2e...0x39 ~= $0 }
    guard isAddress || host == "localhost" || host == Self.host(of: own) else {
      throw Failure.foreignPage
    }
    guard let origin = request.field("Origin")?.lowercased() else { return }
    guard origin == "http://\(authority)" || origin == "https://\(authority)" else {
      throw Failure.foreignPage
    }
  }

  /// `authority` without its port.
  private static func host(of authority: some StringProtocol) -> Substring {
    let text = Substring(authority)
    let end = text.hasPrefix("[") ? text.firstIndex(of: "]") : text.lastIndex(of: ":")
    return end.map { text[..<$0] } ?? text
  }
}

extension Failure {
  fileprivate static let foreignPage = Failure.forbidden(
    "Ask under the site's own name or address, from a page of its own")

  static let noTokensHere = Failure.notFound("No authentication is required here")

  static let notAdmitted = Failure.unauthorized("Unauthorized")
}

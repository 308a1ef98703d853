import Base
import HTTP
import QRCode
import Store

/// `GET /api/pair/info`: returns the content of the QR code, and the time when its token expires.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``.
func getPairingInfo(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  let info = try context.pairingInfo()
  return .json { json in info.write(into: &json) }
}

/// `GET /api/pair/qr`: returns the QR code as a PNG with `?size=` pixels per side, 1 to 512; 256 for another value.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``.
func getPairingCode(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
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

/// `POST /api/pair/refresh`: revokes all unused pairing tokens, and returns a new one. `{"revoke":"all"}` also
/// revokes paired phones.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``; ``Failure/invalidPairingBody``; ``Failure/noTokensHere``.
func replacePairingTokens(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  let body =
    request.body.isEmpty
    ? nil : try request.decode(RevocationBody?.self, orSay: Failure.invalidPairingBody.message)
  guard body?.revoke == nil || body?.revoke == "all" else { throw Failure.invalidPairingBody }
  let token = try context.replacePairingTokens(endingPairings: body?.revoke == "all")
  return .json { json in
    json.member("token", token.text)
    json.member("expires_at", token.expiresAt.rfc3339)
    json.member("message", "All previous tokens have been revoked")
  }
}

private struct RevocationBody: Decodable {
  let revoke: String?
}

/// `GET /pair`: shows a page with the QR code.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``.
func getPairingPage(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  let newest = try context.records.pairedDevices.newest(
    since: context.now - PairingPage.newsLifetime)
  return PairingPage(
    info: try context.pairingInfo(), newest: newest, now: context.now,
    mayBeOpenToAll: context.isPublicNameFromThisMachine(request),
    language: request.messageLanguage
  ).response
}

/// `POST /pair`: replaces the pairing token like `POST /api/pair/refresh`, for the page's button, which works
/// without scripts.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``; ``Failure/noTokensHere``.
func renewPairingPage(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
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
}

extension Endpoint {
  static var getPairingInfo: Endpoint {
    Endpoint(API.getPairingInfo) {
      Operation(
        "Returns the content of the QR code, and the time when its token expires. \(ownNetwork)",
        answers: .json([
          "ws": .string, "http": .string, "session": .string, "repo": .string, "token?": .string,
          "token_expires_at?": .time,
        ]), errors: .ofPairing)
    }
  }

  static var getPairingCode: Endpoint {
    Endpoint(API.getPairingCode) {
      Operation(
        "Returns the QR code as a picture. \(ownNetwork)",
        query: [.init("size", "Pixels of each side, 1 to 512; 256 for other values.", .integer)],
        answers: .content("image/png", "The picture."), errors: .ofPairing)
    }
  }

  static var replacePairingTokens: Endpoint {
    Endpoint(API.replacePairingTokens) {
      Operation(
        """
        Revokes all unused pairing tokens, and returns a new one. With `revoke` `all` it also revokes the paired phones. \
        \(ownNetwork)
        """, body: .json(Schema(of: RevocationBody.self).orNull, isRequired: false),
        answers: .json(["token": .string, "expires_at": .time, "message": .string]),
        errors: .ofPairing + [.invalidPairingBody, .noTokensHere])
    }
  }

  static var getPairingPage: Endpoint {
    Endpoint(API.getPairingPage) {
      Operation(
        "Shows a page with the QR code. \(ownNetwork)", answers: .page("The page."),
        errors: .ofPairing)
    }
  }

  static var renewPairingPage: Endpoint {
    Endpoint(API.renewPairingPage) {
      Operation(
        "Replaces the pairing token, for the button of the page. \(ownNetwork)",
        answers: .redirect(303, "Back to the page."), errors: .ofPairing + [.noTokensHere])
    }
  }
}

import Base
import Cryptography
import HTTP
import Store

/// `POST /api/auth/exchange`: spends a pairing token and pairs the phone that brings it.
///
/// - Throws: ``Failure/badRequest(_:)``; ``Failure/unauthorized(_:)``;
///   ``Failure/tooManyRequests(retryAfter:)`` after ten that failed.
func exchangePairingToken(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let token: String?

    private enum CodingKeys: String, CodingKey { case token = "pairing_token" }
  }
  let body = try request.decode(Body?.self, orSay: invalidBody)
  guard let text = body?.token, !text.isEmpty else {
    throw Failure.badRequest("pairing_token is required")
  }
  if let token = context.pairingToken(text),
    let device = try context.database.exchange(
      token, forDevice: timeOrderedUUID(milliseconds: context.now.milliseconds),
      userAgent: request.field("User-Agent") ?? "", from: context.origin, at: context.now)
  {
    return context.tokens(of: device)
  }
  try context.database.countFailedExchange(from: context.origin, at: context.now)
  throw Failure.unauthorized("Invalid or expired pairing token")
}

/// `POST /api/auth/refresh`: the next pair of tokens, or the same again where the answer was lost.
///
/// - Throws: ``Failure/badRequest(_:)``; ``Failure/unauthorized(_:)``;
///   ``Failure/conflict(_:code:)`` just after another call has refreshed;
///   ``Failure/tooManyRequests(retryAfter:)``.
func refreshPairing(_ request: Request, in context: borrowing Context) throws -> Response {
  let text = try request.refreshToken
  var outcome = PairingRefresh.dead
  if let token = context.pairingToken(text) {
    outcome = try context.database.refresh(token, from: context.origin, at: context.now)
  }
  switch outcome {
  case .refreshed(let device): return context.tokens(of: device)
  case .tooLate:
    throw Failure.conflict("The token has just been refreshed by another request")
  case .dead:
    try context.database.countDeadRefresh(from: context.origin, at: context.now)
    throw Failure.unauthorized("Invalid or expired refresh token")
  }
}

/// `POST /api/auth/revoke`: ends the pairing that a refresh token belongs to. A token that belongs
/// to none is as good as revoked (RFC 7009 §2.2).
///
/// - Throws: ``Failure/badRequest(_:)``, also for a token of another kind.
func revokePairing(_ request: Request, in context: borrowing Context) throws -> Response {
  let text = try request.refreshToken
  if PairingToken.Kind.allCases.contains(where: { $0 != .refresh && text.hasPrefix($0.prefix) }) {
    throw Failure.refreshTokenRequired
  }
  if let token = PairingToken(text, signedWith: context.settings.credentialKeys) {
    try context.database.endPairing(of: token, from: context.origin, at: context.now)
  }
  return .json { json in json.member("success", true) }
}

/// `POST /api/auth/ticket`: what to write into a URL instead of the bearer's token.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/noTokensHere``.
func issueTicket(_ request: Request, in context: borrowing Context) throws -> Response {
  guard context.settings.agent.requiresAuth else { throw Failure.noTokensHere }
  guard let token = request.bearerToken.flatMap({ context.pairingToken($0) }),
    try context.database.admit(token, at: context.now) == .admitted
  else { throw Failure.notAdmitted }
  let ticket = base64URLEncoded(context.random(32))
  let expiresAt = try context.database.issue(
    NewTicket(hash: sha256(ticket), owner: token), at: context.now)
  return .json { json in
    json.member("ticket", ticket)
    json.member("expires_at", expiresAt.rfc3339)
  }
}

/// `GET /_auth`: nginx's question (`auth_request`) whether a request to the agent may pass; the
/// request's own target is in `REQUEST_URI`.
///
/// - Throws: ``Failure/unauthorized(_:)``; ``Failure/tokenExpired`` for a web socket alone.
func admitToAgent(_ request: Request, in context: borrowing Context) throws -> Response {
  let path = request.requestURI.prefix { $0 != "?" }
  switch try context.admission(of: request) {
  case .admitted: return Response(status: 204)
  case .expired where path == "/ws": throw Failure.tokenExpired
  case .expired, .refused: throw Failure.notAdmitted
  }
}

extension Context {
  /// Whether the bearer of a request, or else the `token` in its URL, may reach the agent.
  func admission(of request: Request) throws -> Admission {
    guard settings.agent.requiresAuth else { return .admitted }
    if let bearer = request.bearerToken {
      return try pairingToken(bearer).map { try database.admit($0, at: now) } ?? .refused
    }
    guard let text = request.requestURIQueryItem("token"), !text.isEmpty else { return .refused }
    if text.hasPrefix("cdev_") {
      return try pairingToken(text).map { try database.admit($0, at: now) } ?? .refused
    }
    return try database.spendTicket(sha256(text), at: now)
  }

  /// The token that `text` is, if we signed it and tokens are of use here.
  fileprivate func pairingToken(_ text: String) -> PairingToken? {
    settings.agent.requiresAuth
      ? PairingToken(text, signedWith: settings.credentialKeys) : nil
  }

  fileprivate func tokens(of device: PairedDevice) -> Response {
    let minting = minting
    let (access, refresh) = (device.accessToken(minting), device.refreshToken(minting))
    return .json { json in
      json.member("access_token", access.text(signedWith: minting.keys.newest))
      json.member("access_token_expires_at", access.expiresAt.rfc3339)
      json.member("refresh_token", refresh.text(signedWith: minting.keys.newest))
      json.member("refresh_token_expires_at", refresh.expiresAt.rfc3339)
      json.member("token_type", "Bearer")
      json.member("expires_in", PairingToken.Kind.access.lifetime.components.seconds)
    }
  }
}

extension Request {
  /// The `refresh_token` of the body.
  fileprivate var refreshToken: String {
    get throws {
      struct Body: Decodable {
        let token: String?

        private enum CodingKeys: String, CodingKey { case token = "refresh_token" }
      }
      let body = try decode(Body?.self, orSay: invalidBody)
      guard let text = body?.token, !text.isEmpty else { throw Failure.refreshTokenRequired }
      return text
    }
  }
}

extension Failure {
  fileprivate static let refreshTokenRequired = Failure.badRequest("refresh_token is required")

  fileprivate static let tokenExpired = Failure.forbidden("Token expired")
}

import Base
import Cryptography
import HTTP
import Store

/// `POST /api/auth/exchange`: redeems a pairing token and pairs the phone that sends it.
///
/// - Throws: ``Failure/badRequest(_:)``; ``Failure/unauthorized(_:)``;
///   ``Failure/tooManyRequests(retryAfter:)`` after ten failed exchanges.
func exchangePairingToken(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let token: String?

    private enum CodingKeys: String, CodingKey { case token = "pairing_token" }
  }
  let body = try request.decode(Body?.self, orSay: Failure.invalidPairingBody.message)
  guard let text = body?.token, !text.isEmpty else {
    throw Failure.badRequest("pairing_token is required")
  }
  if let token = context.pairingToken(text),
    let device = try context.records.pairedDevices.pair(
      timeOrderedUUID(milliseconds: context.now.milliseconds), exchanging: token,
      userAgent: request.field("User-Agent") ?? "")
  {
    return context.tokens(of: device)
  }
  try context.records.pairedDevices.countFailedExchange()
  throw Failure.unauthorized("Invalid or expired pairing token")
}

/// `POST /api/auth/refresh`: returns the next pair of tokens, or the same pair again if the answer was lost.
///
/// - Throws: ``Failure/badRequest(_:)``; ``Failure/unauthorized(_:)``;
///   ``Failure/conflict(_:code:)`` just after another call has refreshed;
///   ``Failure/tooManyRequests(retryAfter:)``.
func refreshPairing(_ request: Request, in context: borrowing Context) throws -> Response {
  let text = try request.refreshToken
  var outcome = PairingRefresh.dead
  if let token = context.pairingToken(text) {
    outcome = try context.records.pairedDevices.refresh(token)
  }
  switch outcome {
  case .refreshed(let device): return context.tokens(of: device)
  case .tooLate:
    throw Failure.conflict("The token has just been refreshed by another request")
  case .dead:
    try context.records.sessions.countDeadRefresh()
    throw Failure.unauthorized("Invalid or expired refresh token")
  }
}

/// `POST /api/auth/revoke`: ends the pairing of a refresh token. Succeeds also for a token without a pairing
/// (RFC 7009 §2.2).
///
/// - Throws: ``Failure/badRequest(_:)``, also for a token of another kind.
func revokePairing(_ request: Request, in context: borrowing Context) throws -> Response {
  let text = try request.refreshToken
  if PairingToken.Kind.allCases.contains(where: { $0 != .refresh && text.hasPrefix($0.prefix) }) {
    throw Failure.refreshTokenRequired
  }
  if let token = PairingToken(text, signedWith: context.settings.credentialKeys) {
    try context.records.pairedDevices.unpair(holderOf: token)
  }
  return .json { json in json.member("success", true) }
}

extension Context {
  /// The pairing token in `text`, if we signed it and the agent requires tokens.
  func pairingToken(_ text: String) -> PairingToken? {
    settings.agent.requiresAuth
      ? PairingToken(text, signedWith: settings.credentialKeys) : nil
  }

  fileprivate func tokens(of device: PairedDevice) -> Response {
    let issuer = pairingIssuer
    let (access, refresh) = (
      device.accessToken(by: issuer, at: now), device.refreshToken(by: issuer)
    )
    return .json { json in
      json.member("access_token", access.text)
      json.member("access_token_expires_at", access.expiresAt.rfc3339)
      json.member("refresh_token", refresh.text)
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
      let body = try decode(Body?.self, orSay: Failure.invalidPairingBody.message)
      guard let text = body?.token, !text.isEmpty else { throw Failure.refreshTokenRequired }
      return text
    }
  }
}

extension Failure {
  fileprivate static let refreshTokenRequired = Failure.badRequest("refresh_token is required")
}

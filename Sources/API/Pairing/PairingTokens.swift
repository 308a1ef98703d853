import Base
import Cryptography
import HTTP
import Store

/// `POST /api/auth/exchange`: redeems a pairing token and pairs the phone that sends it.
///
/// - Throws: ``Failure/badRequest(_:)``; ``Failure/unauthorized(_:)``;
///   ``Failure/tooManyRequests(retryAfter:)`` after ten failed exchanges.
func exchangePairingToken(_ request: Request, in context: borrowing Context) throws -> Response {
  let body = try request.decode(ExchangeBody?.self, orSay: Failure.invalidPairingBody.message)
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

private struct ExchangeBody: Decodable {
  let token: String?

  private enum CodingKeys: String, CodingKey { case token = "pairing_token" }
}

/// `POST /api/auth/refresh`: returns the next pair of tokens. Calls at once get the same pair; a later call,
/// whose answer was lost, gets another pair.
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

private struct RefreshTokenBody: Decodable {
  let token: String?

  private enum CodingKeys: String, CodingKey { case token = "refresh_token" }
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
      let body = try decode(RefreshTokenBody?.self, orSay: Failure.invalidPairingBody.message)
      guard let text = body?.token, !text.isEmpty else { throw Failure.refreshTokenRequired }
      return text
    }
  }
}

extension Failure {
  fileprivate static let refreshTokenRequired = Failure.badRequest("refresh_token is required")
}

extension Endpoint {
  static var exchangePairingToken: Endpoint {
    Endpoint(API.exchangePairingToken) {
      Operation(
        "Redeems a pairing token and pairs the phone that sends it.",
        body: .json(ExchangeBody.self),
        answers: .json(.pairedTokens),
        errors: [.invalidPairingBody, .unauthorized("Invalid or expired pairing token")],
        limits: [.failedExchanges])
    }
  }

  static var refreshPairing: Endpoint {
    Endpoint(API.refreshPairing) {
      Operation(
        """
        Returns the next pair of tokens. Calls with the same token within ten seconds, from the same network, get the same \
        pair. After a lost answer, the same token gets another pair, and no earlier one works any more.
        """,
        body: .json(RefreshTokenBody.self), answers: .json(.pairedTokens),
        errors: [
          .invalidPairingBody, .refreshTokenRequired,
          .unauthorized("Invalid or expired refresh token"),
          .conflict("The token has just been refreshed by another request"),
        ], limits: [.rotations, .deadRefreshes])
    }
  }

  static var revokePairing: Endpoint {
    Endpoint(API.revokePairing) {
      Operation(
        "Ends the pairing of a refresh token. Succeeds also for a token without a pairing.",
        body: .json(RefreshTokenBody.self), answers: .success,
        errors: [.invalidPairingBody, .refreshTokenRequired])
    }
  }
}

extension Schema {
  fileprivate static let pairedTokens: Schema =
    ([
      "access_token": .string, "access_token_expires_at": .time, "refresh_token": .string,
      "refresh_token_expires_at": .time, "token_type": .words(["Bearer"]), "expires_in": .integer,
    ] as Schema).named("PairedTokens")
}

import Base
import HTTP
import Store

/// `POST /api/pair/code`: returns the pairing token for the page's six digits, for a phone that cannot scan
/// the QR code.
///
/// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``; ``Failure/badRequest(_:)``;
///   ``Failure/noTokensHere``; ``Failure/unauthorized(_:)``; ``Failure/tooManyRequests(retryAfter:)`` after
///   ten tries for one token, or ten failed tries from one address.
func exchangeTypedCode(_ request: Request, in context: borrowing Context) throws -> Response {
  try context.requirePairingAccess(request)
  guard context.settings.agent.requiresAuth else { throw Failure.noTokensHere }
  let body = try request.decode(CodeBody?.self, orSay: Failure.invalidPairingBody.message)
  guard let code = body?.code?.trimmed, !code.isEmpty else {
    throw Failure.badRequest("code is required")
  }
  guard
    let token = try context.records.pairingTokens.token(ofCode: code, issuer: context.pairingIssuer)
  else {
    try context.records.pairedDevices.countFailedExchange()
    throw Failure.unauthorized("Invalid or expired pairing code")
  }
  return .json { json in
    json.member("pairing_token", token.text)
    json.member("token_expires_at", token.expiresAt.rfc3339)
  }
}

private struct CodeBody: Decodable {
  let code: String?
}

extension Endpoint {
  static var exchangeTypedCode: Endpoint {
    Endpoint(API.exchangeTypedCode) {
      Operation(
        "Returns the pairing token for the page's six digits. \(ownNetwork)",
        body: .json(CodeBody.self),
        answers: .json(["pairing_token": .string, "token_expires_at": .time]),
        errors: .ofPairing + [
          .invalidPairingBody, .noTokensHere, .unauthorized("Invalid or expired pairing code"),
        ], limits: [.typedCodes, .failedExchanges])
    }
  }
}

import Cryptography
import HTTP

extension Context {
  /// The id of the merchant whose API key the request has.
  ///
  /// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``.
  func merchant(of request: Request) throws -> String {
    guard let key = request.field("x-api-key") else { throw Failure.missingAPIKey }
    guard let merchant = try records.merchants.id(withKeyHash: sha256(key)) else {
      throw Failure.invalidAPIKey
    }
    return merchant
  }
}

extension Failure {
  // The scheme is not Bearer, because a new access token would not help.
  static let missingAPIKey = Failure(
    status: 401, code: "missing_api_key", message: "x-api-key header is required",
    fields: [("WWW-Authenticate", "ApiKey")])

  static let invalidAPIKey = Failure(
    status: 401, code: "invalid_api_key", message: "Invalid API key",
    fields: [("WWW-Authenticate", "ApiKey")])
}

import Cryptography
import HTTP
import Store

extension Context {
  /// The merchant whose API key the request has.
  ///
  /// - Throws: ``Failure/missingAPIKey``; ``Failure/invalidAPIKey``; ``Failure/repeatedField(_:)``.
  func merchant(of request: Request) throws -> MerchantCaller {
    guard let key = try request.credentialField("x-api-key") else { throw Failure.missingAPIKey }
    guard let merchant = try records.merchants.find(withKeyHash: sha256(key)) else {
      throw Failure.invalidAPIKey
    }
    return merchant
  }

  /// The merchant of a request that needs both a merchant's key and a payer's token. With a valid token, a
  /// problem of the key is not 401: the app would sign the person out.
  ///
  /// - Throws: ``Failure/missingAPIKey``, ``Failure/invalidAPIKey``, with 403 if the token is valid.
  func merchant(of request: Request, besideTokenOf caller: Caller?) throws -> MerchantCaller {
    do {
      return try merchant(of: request)
    } catch var failure as Failure where failure.status == 401 && caller != nil {
      failure.status = 403
      failure.fields = []
      throw failure
    }
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

extension Access {
  /// The key of a merchant.
  static let merchant = Access(
    alternatives: [[.merchantKey]], errors: [.missingAPIKey, .invalidAPIKey])
}

import FastCGI
import Store

/// A request that is refused because of what the client sent or who it is; the status says the
/// kind, the code and the shape of the body are the family's.
struct Failure: Error {
  let status: Int
  /// Replaces the family's code for the status.
  var code: String?
  let message: String
  /// What is wrong with which member of the body.
  var detail: Detail?
  var fields: [(name: String, value: String)] = []
  /// Writes members beside the error.
  var diagnostics: (@Sendable (inout JSONWriter) -> Void)?

  struct Detail {
    let field: String
    let reason: String
    /// Never a secret.
    let value: String?
  }

  static func badRequest(_ message: String) -> Failure { Failure(status: 400, message: message) }

  static let invalidJSON = Failure.badRequest("The body is not valid JSON")

  static func validation(field: String, reason: String, value: String? = nil) -> Failure {
    Failure(
      status: 400,
      message: field.isEmpty ? "The body must be a JSON object" : "\(field): \(reason)",
      detail: Detail(field: field, reason: reason, value: value))
  }

  /// No bearer token, or nothing that could be one (RFC 6750 §3.1: no error code then).
  static let noCredentials = Failure(
    status: 401, message: "Missing or invalid authorization header",
    fields: [("WWW-Authenticate", "Bearer")])

  static let invalidToken = Failure(
    status: 401, message: "Invalid or expired access token",
    fields: [("WWW-Authenticate", #"Bearer error="invalid_token""#)])

  static let invalidDeviceCredential = Failure(
    status: 401, message: "Invalid or expired device credential",
    fields: [("WWW-Authenticate", "Bearer")])

  static func unauthorized(_ message: String) -> Failure {
    Failure(status: 401, message: message, fields: [("WWW-Authenticate", "Bearer")])
  }

  static func forbidden(_ message: String) -> Failure { Failure(status: 403, message: message) }

  static func notFound(_ message: String = "Not found") -> Failure {
    Failure(status: 404, message: message)
  }

  static func methodNotAllowed(allow: String) -> Failure {
    Failure(status: 405, message: "Method not allowed", fields: [("Allow", allow)])
  }

  static func conflict(_ message: String, code: String? = nil) -> Failure {
    Failure(status: 409, code: code, message: message)
  }

  static let payloadTooLarge = Failure(
    status: 413, message: "The body is larger than \(Application.bodyLimit) bytes")

  /// - Parameter retryAfter: rounded up to whole seconds.
  static func tooManyRequests(retryAfter: Duration) -> Failure {
    let seconds = (retryAfter.milliseconds + 999) / 1000
    return Failure(
      status: 429, message: "Too many requests", fields: [("Retry-After", String(seconds))])
  }

  static let unavailable = Failure(
    status: 503, message: "Temporarily unavailable", fields: [("Retry-After", "2")])

  static let serverError = Failure(status: 500, message: "Internal server error")
}

extension Failure {
  init(_ refusal: Refusal) {
    switch refusal {
    case .sessionEnded, .username: self = .invalidToken
    case .credential: self = .invalidDeviceCredential
    case .attestation(let refusal): self = .attestation(refusal)
    case .rateLimited(let retryAfter): self = .tooManyRequests(retryAfter: retryAfter)
    }
  }

  init(_ refused: ModelsRefused) {
    self = .validation(
      field: "preferred_models", reason: refused.reason.rawValue, value: refused.value)
  }

  init(_ error: DecodingError) {
    func field(_ context: DecodingError.Context, _ last: (any CodingKey)? = nil) -> String {
      (context.codingPath + [last].compactMap { $0 })
        .map(\.stringValue).joined(separator: ".")
    }
    switch error {
    case .typeMismatch(_, let context):
      self = .validation(field: field(context), reason: "wrong_type")
    case .valueNotFound(_, let context):
      self = .validation(field: field(context), reason: "must_not_be_null")
    case .keyNotFound(let key, let context):
      self = .validation(field: field(context, key), reason: "missing")
    case .dataCorrupted(let context) where !context.codingPath.isEmpty:
      self = .validation(field: field(context), reason: "invalid_value")
    default: self = .invalidJSON
    }
  }
}

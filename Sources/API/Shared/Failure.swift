import Base
import HTTP
import Store

/// A request that is refused because of what the client sent or who it is. The family gives the body
/// its shape.
struct Failure: Error {
  let status: Int
  /// Replaces the code of the status.
  var code: String?
  let message: String
  /// What is wrong with which member of the body.
  var detail: Detail?
  var fields: [(name: String, value: String)] = []
  /// Writes members beside the error.
  var diagnostics: (@Sendable (inout JSONWriter) -> Void)?

  struct Detail {
    /// The member's name, or its path; empty for the whole body.
    let field: String
    let reason: String
    /// Never a secret.
    let value: String?
  }

  static func badRequest(_ message: String) -> Failure { Failure(status: 400, message: message) }

  static let invalidJSON = Failure.badRequest(
    "The body is not valid JSON. Update the app and try again.")

  /// - Parameter message: what a person can do about it; nil where the reason has a sentence of its
  ///   own.
  static func validation(
    field: String, reason: String, value: String? = nil, message: String? = nil
  ) -> Failure {
    let detail = Detail(field: field, reason: reason, value: value)
    return Failure(status: 400, message: message ?? detail.sentence, detail: detail)
  }

  /// What programs and administrators read: the member at fault and the reason where there are such.
  var technicalMessage: String {
    guard status == 400, let detail, !detail.field.isEmpty else { return message }
    return "\(detail.field): \(detail.reason)"
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

  /// The code of the status, where neither the failure nor its family has one.
  var defaultCode: String {
    switch status {
    case 400: "bad_request"
    case 401: "unauthorized"
    case 403: "forbidden"
    case 404: "not_found"
    case 405: "method_not_allowed"
    case 409: "conflict"
    case 413: "payload_too_large"
    case 429: "too_many_requests"
    default: "server_error"
    }
  }
}

/// An error of another room that has a failure of its own.
protocol FailureConvertible: Error {
  var failure: Failure { get }
}

extension RateLimited: FailureConvertible {
  var failure: Failure { .tooManyRequests(retryAfter: retryAfter) }
}

extension Failure {
  /// What a client is told of `error`.
  init(describing error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as any FailureConvertible: self = error.failure
    case let error as DecodingError: self.init(error)
    case let error where Database.isUnavailable(error): self = .unavailable
    default: self = .serverError
    }
  }
}

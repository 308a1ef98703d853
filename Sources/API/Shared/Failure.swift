import Base
import HTTP
import Store

/// The rejection of a request because of its content or its sender. The family defines the form of the
/// body.
struct Failure: Error {
  /// Selects a text for people from the messages of any language.
  typealias Sentence = @Sendable (Messages) -> String

  var status: Int
  /// Replaces the default code of the status.
  var code: String?
  /// The English text of the answer; an error shape for people replaces it with ``sentence``.
  var message: String
  /// The text for people; nil if only programs and administrators read the answer.
  let sentence: Sentence?
  /// The reason, only for the log: never a secret.
  var cause: String?
  /// The invalid member of the body, and the reason.
  var detail: Detail?
  var fields: [(name: String, value: String)] = []
  /// Writes members next to the error.
  var diagnostics: (@Sendable (inout JSONWriter) -> Void)?

  struct Detail {
    /// The member's name, or its path; empty for the whole body.
    let field: String
    let reason: String
    /// Never a secret.
    let value: String?
  }

  /// Makes a failure for programs, with the same text in each language.
  init(
    status: Int, code: String? = nil, message: String, detail: Detail? = nil,
    fields: [(name: String, value: String)] = [],
    diagnostics: (@Sendable (inout JSONWriter) -> Void)? = nil
  ) {
    self.status = status
    self.code = code
    self.message = message
    sentence = nil
    self.detail = detail
    self.fields = fields
    self.diagnostics = diagnostics
  }

  /// Makes a failure for people.
  ///
  /// - Parameter message: The text for programs; nil for the sentence in English.
  init(
    status: Int, code: String? = nil, sentence: @escaping Sentence, message: String? = nil,
    detail: Detail? = nil, fields: [(name: String, value: String)] = []
  ) {
    self.status = status
    self.code = code
    self.message = message ?? sentence(.english)
    self.sentence = sentence
    self.detail = detail
    self.fields = fields
  }

  static func badRequest(_ message: String) -> Failure { Failure(status: 400, message: message) }

  static func badRequest(_ sentence: @escaping Sentence) -> Failure {
    Failure(status: 400, sentence: sentence)
  }

  static let invalidJSON = Failure.badRequest(\.invalidJSON)

  /// - Parameter sentence: Tells people how to solve the problem; nil for the default sentence of the reason.
  static func validation(
    field: String, reason: String, value: String? = nil, sentence: Sentence? = nil
  ) -> Failure {
    let detail = Detail(field: field, reason: reason, value: value)
    return Failure(
      status: 400, sentence: sentence ?? { $0.sentence(about: detail) }, detail: detail)
  }

  /// The text for programs and administrators: the invalid member and the reason, or else the message.
  var technicalMessage: String {
    guard status == 400, let detail, !detail.field.isEmpty else { return message }
    return "\(detail.field): \(detail.reason)"
  }

  /// This failure with a reason for the log.
  func because(_ cause: String) -> Failure {
    var failure = self
    failure.cause = cause
    return failure
  }

  /// The bearer token is missing or malformed (RFC 6750 §3.1: no error code then).
  static let noCredentials = Failure(
    status: 401, sentence: \.noCredentials,
    fields: [("WWW-Authenticate", "Bearer")])

  static let invalidToken = Failure(
    status: 401, sentence: \.invalidToken,
    fields: [("WWW-Authenticate", #"Bearer error="invalid_token""#)])

  static let invalidDeviceCredential = Failure(
    status: 401, sentence: \.invalidDeviceCredential,
    message: "Invalid or expired device credential",
    fields: [("WWW-Authenticate", "Bearer")])

  static func unauthorized(_ message: String) -> Failure {
    Failure(status: 401, message: message, fields: [("WWW-Authenticate", "Bearer")])
  }

  static func unauthorized(_ sentence: @escaping Sentence) -> Failure {
    Failure(status: 401, sentence: sentence, fields: [("WWW-Authenticate", "Bearer")])
  }

  static func forbidden(_ message: String) -> Failure { Failure(status: 403, message: message) }

  static func forbidden(_ sentence: @escaping Sentence) -> Failure {
    Failure(status: 403, sentence: sentence)
  }

  /// The path does not exist, for any client.
  static let notFound = Failure(status: 404, sentence: \.unknownRequest, message: "Not found")

  static func notFound(_ sentence: @escaping Sentence) -> Failure {
    Failure(status: 404, sentence: sentence)
  }

  static func methodNotAllowed(allow: String) -> Failure {
    Failure(
      status: 405, sentence: \.unknownRequest, message: "Method not allowed",
      fields: [("Allow", allow)])
  }

  static func conflict(_ message: String) -> Failure { Failure(status: 409, message: message) }

  static func conflict(_ sentence: @escaping Sentence, code: String? = nil) -> Failure {
    Failure(status: 409, code: code, sentence: sentence)
  }

  static let payloadTooLarge = Failure(
    status: 413, sentence: \.payloadTooLarge,
    message: "The body is larger than \(Application.bodyLimit) bytes")

  /// - Parameter retryAfter: The wait time, rounded up to whole seconds.
  static func tooManyRequests(retryAfter: Duration) -> Failure {
    let seconds = (retryAfter.milliseconds + 999) / 1000
    return Failure(
      status: 429, sentence: \.tooManyRequests, message: "Too many requests",
      fields: [("Retry-After", String(seconds))])
  }

  static let unavailable = Failure(
    status: 503, sentence: \.unavailable, message: "Temporarily unavailable",
    fields: [("Retry-After", "2")])

  static let serverError = Failure(
    status: 500, sentence: \.serverError, message: "Internal server error")

  /// The code of the status, used if neither the failure nor its family defines a code.
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

/// An error of another room that maps to a ``Failure``.
protocol FailureConvertible: Error {
  var failure: Failure { get }
}

extension RateLimited: FailureConvertible {
  var failure: Failure { .tooManyRequests(retryAfter: retryAfter) }
}

extension Failure {
  /// The failure that tells a client about `error`.
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

import Base

extension ErrorShape {
  /// `{"error": {"code": code, "message": message, "details": {…}}}`
  static let preferences = ErrorShape(
    write: { failure, code, json in
      json.member("error", object: { $0.errorMembers(code, failure) })
    },
    codes: [400: "validation_error", 429: "rate_limited"])
}

extension JSONWriter {
  /// The members of an error object.
  mutating func errorMembers(_ code: String, _ failure: Failure) {
    member("code", code)
    member("message", failure.message)
    guard let detail = failure.detail else { return }
    member(
      "details",
      object: { details in
        details.member("field", detail.field)
        details.member("reason", detail.reason)
        if let value = detail.value { details.member("value", value) }
      })
  }
}

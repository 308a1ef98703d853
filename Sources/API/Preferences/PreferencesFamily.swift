import Base

extension Family {
  /// Preferences of devices, the catalogue of models, and the push token that the apps register.
  ///
  /// - Parameter proof: checks that the app of a request is genuine.
  static func preferences(checking proof: AppProof) -> Family {
    Family(
      "preferences", paths: ["/api/v1/"], errors: .preferences,
      routes: [
        Route("GET", "/api/v1/device-prefs") { request, context in
          try getPreferences(request, in: context, noting: proof)
        },
        Route("POST", "/api/v1/device-prefs") { request, context in
          try postPreferences(request, in: context, checking: proof)
        },
        Route("GET", "/api/v1/models", getModels),
        Route("POST", "/api/v1/push/register") { request, context in
          try registerPushToken(request, in: context, checking: proof)
        },
      ])
  }
}

extension ErrorShape {
  /// `{"error": {"code": code, "message": message, "details": {…}}}`
  static let preferences = ErrorShape(
    write: { failure, code, json in json.member("error", object: { $0.error(code, failure) }) },
    codes: [400: "validation_error", 429: "rate_limited"])
}

extension JSONWriter {
  /// The members of an error object.
  mutating func error(_ code: String, _ failure: Failure) {
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

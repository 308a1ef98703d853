import Base
import Store

extension ErrorShape {
  /// `{"error": {"code": code, "message": message, "details": {…}}}`
  static let preferences = ErrorShape(
    write: { failure, code, json in
      json.member("error", object: { $0.errorMembers(code, failure) })
    },
    codes: [400: "validation_error", 429: "rate_limited"])
}

extension ModelsRefusal {
  /// Tells people how to solve the problem.
  var sentence: String {
    switch reason {
    case .empty: "A model has no name. Choose the models again."
    case .unknown: "There is no model \(value ?? ""). Choose another one."
    case .tooLong: "The name of a model is too long. Choose the models again."
    case .controlCharacter:
      "The name of a model has characters that cannot be shown. Choose the models again."
    case .tooMany: "Choose at most 16 models."
    }
  }
}

extension JSONWriter {
  /// The members of an error object.
  mutating func errorMembers(_ code: String, _ failure: Failure) {
    member("code", code)
    member("message", failure.message)
    details(of: failure)
  }
}

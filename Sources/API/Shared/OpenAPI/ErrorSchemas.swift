import Base
import HTTP

extension Failure {
  /// Errors of every operation: the first ones come before its handler.
  static let common: [Failure] = [
    .badRequest(\.bodyIncomplete), .payloadTooLarge, .tooManyRequests(retryAfter: .seconds(1)),
    .serverError, .unavailable,
  ]

  /// Errors of every operation with a body in JSON. The reasons of an invalid member differ.
  static let ofBodies: [Failure] = [
    .invalidJSON, .validation(field: "member", reason: "missing"),
    .validation(field: "member", reason: "unknown", value: "value"),
  ]
}

extension ErrorShape {
  /// The form of the bodies of `failures`, found by writing them.
  func schema(of failures: [Failure]) -> Schema {
    Schema(
      ofSamples: failures.map { failure in
        let code = Schema.codeMark + self.code(of: failure)
        let body = JSONWriter.object { json in write(failure, code, &json) }
        guard let value = try? JSONValue(body) else { preconditionFailure("we write JSON") }
        return value
      })
  }
}

extension JSONValue {
  /// The members of an object; none of another value.
  fileprivate var members: [(name: String, value: JSONValue)] {
    if case .object(let members) = self { members } else { [] }
  }
}

extension Schema {
  /// Begins a text that is the code of an error.
  fileprivate static let codeMark = "\u{1}"

  /// The form of all `samples`. A member that a sample lacks may be missing.
  fileprivate init(ofSamples samples: [JSONValue]) {
    switch samples.first {
    case .object?:
      let objects = samples.map(\.members)
      var names: [String] = []
      for name in objects.joined().map(\.name) where !names.contains(name) { names.append(name) }
      types = ["object"]
      members = names.map { name in
        let values = objects.compactMap { members in members.first { $0.name == name }?.value }
        return Member(
          name: name, schema: Schema(ofSamples: values), isRequired: values.count == samples.count)
      }
    case .array?:
      self = .array(of: .string)
    case .string?:
      let codes = Set(
        samples.compactMap {
          if case .string(let text) = $0, text.hasPrefix(Self.codeMark) {
            text.dropFirst()
          } else {
            nil
          }
        })
      self = codes.isEmpty ? .string : .words(codes.map(String.init).sorted())
    case .boolean?: self = .boolean
    case .number?: self = .integer
    case .null?, nil: self = .any
    }
  }
}

import Base

extension Failure {
  /// Names the member of the body that could not be decoded.
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

extension RepeatedMember: FailureConvertible {
  var failure: Failure { .validation(field: path, reason: "twice") }
}

import Base
import Store

extension PreferencesChange {
  /// The members that ``init(json:)`` reads.
  static let schema: Schema = [
    "push_enabled?": .boolean,
    "push_token?": .text(atMost: tokenLengths.upperBound).orNull,
    "preferred_models?": .array(of: .string), "archive_cache_quota_mb?": .integer,
    "if_version?": .integer.orNull,
  ]

  private static let tokenLengths = 1...512

  /// Reads the body. A missing member keeps its value. Null clears the push token, means no
  /// `if_version`, and is invalid for other members.
  ///
  /// - Throws: ``Failure/validation``; ``Failure/invalidJSON``.
  init(json: [UInt8]) throws {
    self.init()
    var reader = JSONReader(json)
    try Self.reading("") {
      if try reader.null() { throw Failure.validation(field: "", reason: "must_not_be_null") }
      try reader.object { name, value in
        try Self.reading(name) { try self.read(name, from: &value) }
      }
      try reader.end()
    }
  }

  private mutating func read(_ name: String, from value: inout JSONReader) throws {
    func refuseNull() throws {
      if try value.null() { throw Failure.validation(field: name, reason: "must_not_be_null") }
    }
    switch name {
    case "push_enabled":
      try refuseNull()
      pushEnabled = try value.boolean()
    case "push_token":
      pushToken =
        try value.null() ? .clear : .set(Self.opaqueToken(value.string(), field: name))
    case "preferred_models":
      try refuseNull()
      var models: [String] = []
      try value.array { element in models.append(try element.string()) }
      preferredModels = models
    case "archive_cache_quota_mb":
      try refuseNull()
      archiveCacheQuota = try Self.wholeNumber(value.number(), field: name)
    case "if_version":
      ifVersion = try value.null() ? nil : Self.wholeNumber(value.number(), field: name)
    default: try value.skip()
    }
  }

  /// Runs `read`, and converts an error of the reader to a failure that names the member `name`.
  private static func reading(_ name: String, _ read: () throws -> Void) throws {
    do {
      try read()
    } catch JSONReader.Failure.wrongType {
      throw Failure.validation(field: name, reason: "wrong_type")
    } catch JSONReader.Failure.malformed {
      throw Failure.invalidJSON
    }
  }

  /// Reads a number with an integer value, such as `1` or `1.0`. A number that does not fit 64 bits
  /// becomes the nearest one that fits.
  private static func wholeNumber(_ digits: ArraySlice<UInt8>, field: String) throws -> Int64 {
    let text = String(decoding: digits, as: UTF8.self)
    if let value = Int64(text) { return value }
    guard let number = Double(text), number.rounded() == number else {
      throw Failure.validation(field: field, reason: "must_be_an_integer")
    }
    return Int64(exactly: number) ?? (number < 0 ? .min : .max)
  }

  /// - Throws: ``Failure/validation`` unless `token` has 1 to 512 characters.
  static func opaqueToken(_ token: String, field: String) throws -> String {
    guard tokenLengths.contains(token.unicodeScalars.count) else {
      throw Failure.validation(field: field, reason: token.isEmpty ? "empty" : "too_long")
    }
    return token
  }
}

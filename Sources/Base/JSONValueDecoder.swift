/// A member that stands twice in an object. It is refused where it is decoded, because programs differ in which of the two
/// they read.
package struct RepeatedMember: Error {
  /// Names from the outermost object to the member, with dots between.
  package let path: String
}

/// A value that is stored as JSON.
package protocol JSONStored: Decodable {
  func write(to object: inout JSONWriter)
}

extension JSONStored {
  package var json: [UInt8] { JSONWriter.object(write) }
}

/// The value that `json` describes.
///
/// - Throws: ``JSONReader/Failure`` if it is not JSON; `DecodingError`; ``RepeatedMember``; errors of `Value`.
package func decoded<Value: Decodable>(_ type: Value.Type, from json: [UInt8]) throws -> Value {
  try JSONValueDecoder(try JSONValue(json)).decode(type)
}

/// Decodes one JSON value. Integers may be written with a fraction of zero or with an exponent.
private struct JSONValueDecoder: Decoder, SingleValueDecodingContainer {
  let value: JSONValue
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ value: JSONValue, at codingPath: [any CodingKey] = []) {
    self.value = value
    self.codingPath = codingPath
  }

  func container<Key>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = value else { throw mismatch([String: JSONValue].self) }
    return KeyedDecodingContainer(JSONMembers(members: members, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = value else { throw mismatch([JSONValue].self) }
    return JSONElements(elements: elements, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool {
    if case .null = value { true } else { false }
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    switch type {
    case is Bool.Type:
      guard case .boolean(let boolean) = value else { throw mismatch(type) }
      return boolean as! Value
    case is String.Type:
      guard case .string(let text) = value else { throw mismatch(type) }
      return text as! Value
    case is JSONNumber.Type: return try number(as: type) as! Value
    case is Double.Type:
      guard let double = Double(try number(as: type).text), double.isFinite else {
        throw outOfRange(type)
      }
      return double as! Value
    case let integer as any FixedWidthInteger.Type:
      return try self.integer(integer, try number(as: type).text) as! Value
    default: return try Value(from: self)
    }
  }

  private func number(as type: Any.Type) throws -> JSONNumber {
    guard case .number(let number) = value else { throw mismatch(type) }
    return number
  }

  private func integer<Integer: FixedWidthInteger>(
    _ type: Integer.Type, _ text: String
  ) throws -> Integer {
    if let integer = Integer(text) { return integer }
    guard let integer = Double(text).flatMap({ Integer(exactly: $0) }) else {
      throw outOfRange(type)
    }
    return integer
  }

  private func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(codingPath: codingPath, debugDescription: "other type")
    return decodeNil() ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  private func outOfRange(_ type: Any.Type) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: "does not fit \(type)"))
  }
}

extension JSONNumber: Decodable {
  package init(from decoder: any Decoder) throws {
    self = try decoder.singleValueContainer().decode(JSONNumber.self)
  }
}

/// Members of an object.
private struct JSONMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [(name: String, value: JSONValue)]
  let codingPath: [any CodingKey]

  var allKeys: [Key] { members.compactMap { Key(stringValue: $0.name) } }

  func contains(_ key: Key) -> Bool { members.contains { $0.name == key.stringValue } }

  func decodeNil(forKey key: Key) throws -> Bool { try decoder(of: key).decodeNil() }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try decoder(of: key).decode(type)
  }

  func nestedContainer<NestedKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder(of: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder(of: key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { JSONValueDecoder(.object(members), at: codingPath) }

  func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(of: key) }

  private func decoder(of key: Key) throws -> JSONValueDecoder {
    let path = codingPath + [key]
    let found = members.lazy.filter { $0.name == key.stringValue }
    guard let value = found.first?.value else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "missing"))
    }
    guard found.dropFirst().isEmpty else {
      throw RepeatedMember(path: path.map(\.stringValue).joined(separator: "."))
    }
    return JSONValueDecoder(value, at: path)
  }
}

/// Elements of an array, one after the other.
private struct JSONElements: UnkeyedDecodingContainer {
  private struct Index: CodingKey {
    let intValue: Int?
    var stringValue: String { "\(intValue ?? 0)" }

    init(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { nil }
  }

  let elements: [JSONValue]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(elements: [JSONValue], codingPath: [any CodingKey]) {
    self.elements = elements
    self.codingPath = codingPath
  }

  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex == elements.count }

  mutating func decodeNil() throws -> Bool {
    let isNull = try next().decodeNil()
    if isNull { currentIndex += 1 }
    return isNull
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try next().decode(type)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<NestedKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let container = try next().container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try next().unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    defer { currentIndex += 1 }
    return try next()
  }

  private func next() throws -> JSONValueDecoder {
    let path = codingPath + [Index(intValue: currentIndex)]
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        JSONValue.self, .init(codingPath: path, debugDescription: "end of the array"))
    }
    return JSONValueDecoder(elements[currentIndex], at: path)
  }
}

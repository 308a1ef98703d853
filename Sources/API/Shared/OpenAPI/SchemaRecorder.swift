import Base

/// A type that describes its JSON itself, because it checks more than types. The schema has an example, which the type
/// must accept.
protocol SelfDescribing: Decodable {
  static var schema: Schema { get }
}

/// A type with one word for each case.
extension SelfDescribing where Self: CaseIterable & RawRepresentable, RawValue == String {
  static var schema: Schema {
    let words = allCases.map(\.rawValue)
    return .words(words).example(.string(words[0]))
  }
}

extension Schema {
  /// The form of the JSON from which `type` decodes. Lets it decode, and notes everything that it asks for: so the
  /// description cannot differ from the handler that decodes the same type.
  init(of type: any Decodable.Type) {
    if let type = type as? any SelfDescribing.Type {
      self = type.schema
      return
    }
    let recorder = SchemaRecorder()
    do { _ = try type.init(from: recorder) } catch {
      preconditionFailure("\(type) must be SelfDescribing: \(error)")
    }
    self = recorder.schema
  }
}

/// Gives each type that decodes from it a value of the requested form.
private final class SchemaRecorder: Decoder {
  var schema = Schema()
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    schema.types = ["object"]
    return KeyedDecodingContainer(RecordedMembers(recorder: self))
  }

  func unkeyedContainer() -> any UnkeyedDecodingContainer {
    schema.types = ["array"]
    return RecordedElements(recorder: self)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { RecordedValue(recorder: self) }

  /// A value of `type`, and its schema.
  func value<Value: Decodable>(of type: Value.Type) throws -> (Value, Schema) {
    switch type {
    case is String.Type: return ("" as! Value, .string)
    case is Bool.Type: return (false as! Value, .boolean)
    case is Int64.Type: return (Int64(0) as! Value, .integer.with("format", "int64"))
    case let type as any SelfDescribing.Type:
      guard let example = type.schema.example else {
        preconditionFailure("the schema of \(type) has no example")
      }
      return (try decoded(Value.self, from: example.text), type.schema)
    default:
      let recorder = SchemaRecorder()
      return (try Value(from: recorder), recorder.schema)
    }
  }
}

/// Members of an object. A member that may be missing may also be null.
private struct RecordedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let recorder: SchemaRecorder
  private let optional = Names()
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  private final class Names { var names: Set<String> = [] }

  init(recorder: SchemaRecorder) { self.recorder = recorder }

  func contains(_ key: Key) -> Bool { true }

  /// Types ask this only of members that may be missing.
  func decodeNil(forKey key: Key) -> Bool {
    optional.names.insert(key.stringValue)
    return false
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    let (value, schema) = try recorder.value(of: type)
    let isOptional = optional.names.contains(key.stringValue)
    recorder.schema.members.append(
      Schema.Member(
        name: key.stringValue, schema: isOptional ? schema.orNull : schema,
        isRequired: !isOptional))
    return value
  }

  func nestedContainer<NestedKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> { preconditionFailure("no type asks for this") }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    preconditionFailure("no type asks for this")
  }

  func superDecoder() -> any Decoder { recorder }
  func superDecoder(forKey key: Key) -> any Decoder { recorder }
}

/// One element of an array.
private struct RecordedElements: UnkeyedDecodingContainer {
  let recorder: SchemaRecorder
  var codingPath: [any CodingKey] { [] }
  var count: Int? { 1 }
  var currentIndex = 0
  var isAtEnd: Bool { currentIndex == 1 }

  init(recorder: SchemaRecorder) { self.recorder = recorder }

  mutating func decodeNil() -> Bool { false }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let (value, schema) = try recorder.value(of: type)
    recorder.schema.elements = [schema]
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Key>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    preconditionFailure("no type asks for this")
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer {
    preconditionFailure("no type asks for this")
  }

  mutating func superDecoder() -> any Decoder { recorder }
}

private struct RecordedValue: SingleValueDecodingContainer {
  let recorder: SchemaRecorder
  var codingPath: [any CodingKey] { [] }

  func decodeNil() -> Bool { false }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let (value, schema) = try recorder.value(of: type)
    recorder.schema = schema
    return value
  }
}

extension JSONValue {
  /// The value as JSON text.
  var text: [UInt8] {
    var writer = JSONWriter()
    writer.value(self)
    return writer.bytes
  }
}

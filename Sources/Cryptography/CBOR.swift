/// A value in CBOR (RFC 8949): the types of CTAP2's canonical form, without floats.
///
/// Each value has one accepted spelling: definite lengths, integers and lengths in their shortest
/// form, no tags, no member twice (CTAP 2.1 §8). Members may come in any order.
package enum CBOR: Equatable, Sendable {
  case integer(Int64)
  case bytes(ArraySlice<UInt8>)
  case text(String)
  case array([CBOR])
  case map([Key: CBOR])
  case boolean(Bool)
  case null

  /// The name of a member.
  package enum Key: Hashable, Sendable {
    case integer(Int64)
    case text(String)
  }

  /// Bytes.
  package static let maximumSize = 65_536
  package static let maximumDepth = 16
  /// Values, at all depths together.
  package static let maximumCount = 256

  /// Decodes `bytes`, which must be exactly one value.
  ///
  /// - Throws: ``CryptographyError/malformed``, also over a limit.
  package init(decoding bytes: ArraySlice<UInt8>) throws(CryptographyError) {
    var rest = bytes
    try self.init(takenFrom: &rest)
    guard rest.isEmpty else { throw .malformed }
  }

  /// Takes the value at the front of `bytes`.
  ///
  /// - Throws: ``CryptographyError/malformed``, also over a limit.
  package init(takenFrom bytes: inout ArraySlice<UInt8>) throws(CryptographyError) {
    guard bytes.count <= Self.maximumSize else { throw .malformed }
    var reader = CBORReader(rest: bytes)
    self = try reader.value(atDepth: 1)
    bytes = reader.rest
  }
}

extension CBOR {
  package subscript(_ name: String) -> CBOR? { self[.text(name)] }

  package subscript(_ number: Int64) -> CBOR? { self[.integer(number)] }

  private subscript(_ key: Key) -> CBOR? {
    guard case .map(let members) = self else { return nil }
    return members[key]
  }

  package var integer: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  package var bytes: ArraySlice<UInt8>? {
    if case .bytes(let value) = self { value } else { nil }
  }

  package var text: String? {
    if case .text(let value) = self { value } else { nil }
  }

  package var array: [CBOR]? {
    if case .array(let value) = self { value } else { nil }
  }

  package var map: [Key: CBOR]? {
    if case .map(let value) = self { value } else { nil }
  }
}

private struct CBORReader {
  var rest: ArraySlice<UInt8>
  private var count = 0

  init(rest: ArraySlice<UInt8>) { self.rest = rest }

  mutating func value(atDepth depth: Int) throws(CryptographyError) -> CBOR {
    count += 1
    guard depth <= CBOR.maximumDepth, count <= CBOR.maximumCount, let first = rest.popFirst()
    else { throw .malformed }
    let majorType = first >> 5
    if majorType == 7 { return try simple(first) }

    let argument = try argument(of: first)
    switch majorType {
    case 0: return .integer(argument)
    case 1: return .integer(-1 - argument)
    case 2: return .bytes(try take(argument))
    case 3: return .text(try text(of: argument))
    case 4: return .array(try array(of: argument, atDepth: depth))
    case 5: return .map(try map(of: argument, atDepth: depth))
    default: throw .malformed  // 6: a tag
    }
  }

  private func simple(_ first: UInt8) throws(CryptographyError) -> CBOR {
    switch first {
    case 0xF4: return .boolean(false)
    case 0xF5: return .boolean(true)
    case 0xF6: return .null
    default: throw .malformed
    }
  }

  /// The integer or length of an initial byte: that byte holds it, or the 1, 2, 4 or 8 that follow.
  private mutating func argument(of first: UInt8) throws(CryptographyError) -> Int64 {
    let short = first & 0x1F
    guard short >= 24 else { return Int64(short) }
    guard short <= 27 else { throw .malformed }  // 31: an indefinite length
    let size = 1 << Int(short - 24)
    let value = try take(Int64(size)).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    let isShortest = size == 1 ? value >= 24 : value >> (4 * UInt64(size)) != 0
    guard isShortest, let argument = Int64(exactly: value) else { throw .malformed }
    return argument
  }

  private mutating func take(_ size: Int64) throws(CryptographyError) -> ArraySlice<UInt8> {
    guard let bytes = rest.take(Int(size)) else { throw .malformed }
    return bytes
  }

  private mutating func text(of size: Int64) throws(CryptographyError) -> String {
    guard let text = String(validating: try take(size), as: UTF8.self) else { throw .malformed }
    return text
  }

  private mutating func array(
    of size: Int64, atDepth depth: Int
  ) throws(CryptographyError) -> [CBOR] {
    guard size <= rest.count else { throw .malformed }  // an element has at least one byte
    var elements: [CBOR] = []
    for _ in 0..<size { elements.append(try value(atDepth: depth + 1)) }
    return elements
  }

  private mutating func map(
    of size: Int64, atDepth depth: Int
  ) throws(CryptographyError) -> [CBOR.Key: CBOR] {
    guard size <= rest.count / 2 else { throw .malformed }
    var members: [CBOR.Key: CBOR] = [:]
    for _ in 0..<size {
      let key: CBOR.Key
      switch try value(atDepth: depth + 1) {
      case .integer(let number): key = .integer(number)
      case .text(let name): key = .text(name)
      default: throw .malformed
      }
      guard members.updateValue(try value(atDepth: depth + 1), forKey: key) == nil
      else { throw .malformed }
    }
    return members
  }
}

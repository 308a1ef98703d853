import Cryptography

extension CBOR {
  /// The value in CTAP2's canonical form (CTAP 2.1 §8).
  package var encoded: [UInt8] {
    switch self {
    case .integer(let number) where number < 0: Self.head(1, UInt64(-1 - number))
    case .integer(let number): Self.head(0, UInt64(number))
    case .bytes(let bytes): Self.head(2, UInt64(bytes.count)) + bytes
    case .text(let text): Self.head(3, UInt64(text.utf8.count)) + text.utf8
    case .array(let values): Self.head(4, UInt64(values.count)) + values.flatMap(\.encoded)
    case .map(let members): Self.head(5, UInt64(members.count)) + Self.sorted(members)
    case .boolean(let value): [value ? 0xF5 : 0xF4]
    case .null: [0xF6]
    }
  }

  private static func sorted(_ members: [Key: CBOR]) -> [UInt8] {
    let encoded = members.map { key, value in
      switch key {
      case .integer(let number): (CBOR.integer(number).encoded, value.encoded)
      case .text(let text): (CBOR.text(text).encoded, value.encoded)
      }
    }
    return encoded.sorted { ($0.0.count, hexEncoded($0.0)) < ($1.0.count, hexEncoded($1.0)) }
      .flatMap { $0.0 + $0.1 }
  }

  private static func head(_ majorType: UInt8, _ argument: UInt64) -> [UInt8] {
    let first = majorType << 5
    let bytes = withUnsafeBytes(of: argument.bigEndian) { Array($0) }
    return switch argument {
    case 0..<24: [first | bytes[7]]
    case 24...0xFF: [first | 24] + bytes.suffix(1)
    case 0x100...0xFFFF: [first | 25] + bytes.suffix(2)
    case 0x1_0000...0xFFFF_FFFF: [first | 26] + bytes.suffix(4)
    default: [first | 27] + bytes
    }
  }
}

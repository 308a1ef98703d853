import Cryptography
import Testing

@Suite struct COSEKeyTests {
  typealias Members = [CBOR.Key: CBOR]

  static func number(_ number: Int64) -> CBOR.Key { .integer(number) }

  static func bytes(_ count: Int, from first: UInt8 = 0xFF) -> CBOR {
    .bytes([first] + [UInt8](repeating: 0xFF, count: count - 1))
  }

  static func p256() throws -> Members {
    let point = try P256PublicKey(pem: P256Tests.publicKey).uncompressedPoint
    return [
      number(1): .integer(2), number(3): .integer(-7), number(-1): .integer(1),
      number(-2): .bytes(point[1...32]), number(-3): .bytes(point[33...]),
    ]
  }
  static let ed25519: Members = [
    number(1): .integer(1), number(3): .integer(-8), number(-1): .integer(6), number(-2): bytes(32),
  ]
  static let rsa: Members = [
    number(1): .integer(3), number(3): .integer(-257), number(-1): bytes(256),
    number(-2): .bytes([1, 0, 1]),
  ]

  @Test func keysOfAllThreeAlgorithmsAreRead() throws {
    #expect(try COSEKey(.map(Self.p256())).algorithm == .es256)
    #expect(try COSEKey(.map(Self.ed25519)).algorithm == .edDSA)
    #expect(try COSEKey(.map(Self.rsa)).algorithm == .rs256)
  }

  /// Each case changes or adds one member.
  @Test(
    arguments: [
      (1, .integer(1)), (1, .integer(3)), (1, .text("EC2")), (3, .integer(-8)), (3, .integer(-35)),
      (3, .integer(0)), (3, .null), (-1, .integer(2)), (-1, .integer(6)), (-2, bytes(31)),
      (-2, bytes(33)), (-2, bytes(32)), (-2, .text("x")), (-3, bytes(31)), (-3, .boolean(true)),
      (2, .bytes([1])), (4, .array([.integer(2)])), (-4, .bytes([])),
    ] as [(Int64, CBOR)])
  func p256KeysWithAWrongMemberAreInvalid(_ name: Int64, _ value: CBOR) throws {
    var members = try Self.p256()
    members[.integer(name)] = value
    #expect(throws: CryptographyError.invalidKey) { try COSEKey(.map(members)) }
  }

  @Test(
    arguments: [
      (1, .integer(2)), (3, .integer(-7)), (-1, .integer(4)), (-2, bytes(31)), (-2, bytes(33)),
      (-3, bytes(32)), (2, .bytes([1])),
    ] as [(Int64, CBOR)])
  func ed25519KeysWithAWrongMemberAreInvalid(_ name: Int64, _ value: CBOR) {
    var members = Self.ed25519
    members[.integer(name)] = value
    #expect(throws: CryptographyError.invalidKey) { try COSEKey(.map(members)) }
  }

  /// Too short, too long, a leading zero, another exponent.
  @Test(
    arguments: [
      (1, .integer(2)), (-1, bytes(255)), (-1, bytes(513)), (-1, bytes(256, from: 0x7F)),
      (-1, bytes(257, from: 0)), (-2, .bytes([3])), (-2, .bytes([0, 1, 0, 1])), (-3, bytes(32)),
    ] as [(Int64, CBOR)])
  func rsaKeysWithAWrongMemberAreInvalid(_ name: Int64, _ value: CBOR) {
    var members = Self.rsa
    members[.integer(name)] = value
    #expect(throws: CryptographyError.invalidKey) { try COSEKey(.map(members)) }
  }

  @Test(arguments: [.null, .map([:]), .array([]), .integer(3)] as [CBOR])
  func valuesThatAreNotKeysAreInvalid(_ value: CBOR) {
    #expect(throws: CryptographyError.invalidKey) { try COSEKey(value) }
  }
}

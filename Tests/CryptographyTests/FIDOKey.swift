import Support

@testable import Cryptography

/// A passkey with its browser, whose answers a test changes before they are signed.
struct FIDOKey {
  static let challenge = Array("a challenge of the server".utf8)
  static let party = RelyingParty(id: "example.org", origins: ["https://example.org"])

  enum Flag {
    static let present: UInt8 = 0x01
    static let verified: UInt8 = 0x04
    static let credential: UInt8 = 0x40
    static let extensions: UInt8 = 0x80
  }

  private let key: P256PrivateKey
  let id = Array("credential".utf8)

  init() throws { key = try P256PrivateKey.generate() }

  func signature(of message: [UInt8]) throws -> [UInt8] {
    P256.derSignature(try key.signES256(message.span)) ?? []
  }

  /// AAGUID, credential id and key, of the algorithm with this number.
  func credentialData(algorithm: Int64 = -7) throws -> [UInt8] {
    let point = try key.publicKey().uncompressedPoint
    let cose: [CBOR.Key: CBOR] = [
      .integer(1): .integer(2), .integer(3): .integer(algorithm), .integer(-1): .integer(1),
      .integer(-2): .bytes(point[1...32]), .integer(-3): .bytes(point[33...]),
    ]
    return [UInt8](repeating: 0, count: 16) + [0, UInt8(id.count)] + id + CBOR.map(cose).encoded
  }

  func passkey(signCount: UInt32) throws -> Passkey {
    Passkey(
      credentialID: id, publicKey: Array(try credentialData().dropFirst(18 + id.count)),
      signCount: signCount, isBackupEligible: false, isBackedUp: false)
  }

  static func authenticatorData(
    _ flags: UInt8, count: UInt32 = 0, party: String = "example.org", then rest: [UInt8] = []
  ) -> [UInt8] {
    sha256(party) + [flags] + withUnsafeBytes(of: count.bigEndian) { Array($0) } + rest
  }
}

/// The client data of a ceremony: the JSON text of each member.
struct FIDOClientData {
  var members: [String: String]

  init(type: String) {
    members = [
      "type": "\"\(type)\"", "challenge": "\"\(base64URLEncoded(FIDOKey.challenge))\"",
      "origin": #""https://example.org""#,
    ]
  }

  var json: [UInt8] {
    Array("{\(members.map { "\"\($0)\":\($1)" }.sorted().joined(separator: ","))}".utf8)
  }

  /// The items on client data (`Resp-2` of both ceremonies): their numbers, and the changes to a valid answer.
  static func items(
    type: String, other: String
  ) -> [(number: Int, member: String, value: String?)] {
    [
      (1, "type", nil), (2, "type", "5"), (3, "type", #""""#), (4, "type", #""webauthn""#),
      (5, "type", "\"\(other)\""), (6, "challenge", nil), (7, "challenge", "[]"),
      (8, "challenge", #""""#), (9, "challenge", #""?""#), (10, "challenge", #""AAAA""#),
      (11, "origin", nil), (12, "origin", "{}"), (13, "origin", #""""#),
      (14, "origin", #""https://example.com""#), (15, "tokenBinding", #""x""#),
      (16, "tokenBinding", "{}"), (17, "tokenBinding", #"{"status":"x"}"#),
    ]
  }
}

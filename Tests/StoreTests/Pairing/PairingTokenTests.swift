import Base
import Cryptography
import Foundation
import Support
import Testing

@testable import Store

@Suite struct PairingTokenTests {
  private struct Vectors: Decodable {
    struct Vector: Decodable {
      let name: String
      let token: String
      let payloadJsonBytes: String
      let expect: String
    }

    let serverId: String
    let secretHex: String
    let now: Int64
    let vectors: [Vector]

    var keyring: Keyring {
      try! Keyring(parsing: "v:" + base64URLEncoded(hexDecoded(secretHex)!))
    }
  }

  private static let file: Vectors = {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try! decoder.decode(
      Vectors.self, from: Data(try! fixture("pairing/token_vectors.json").utf8))
  }()

  private static let keyring = file.keyring

  private func decoded(_ text: String) -> PairingToken? {
    PairingToken(text, signedWith: Self.keyring)
  }

  @Test(arguments: file.vectors.indices)
  func everyVectorIsReadAsItExpects(_ index: Int) {
    let vector = Self.file.vectors[index]
    let token = decoded(vector.token)
    let verdict = token.map {
      $0.hasExpired(at: Timestamp(seconds: Self.file.now)) ? "expired" : "valid"
    }
    #expect(verdict == (vector.expect.hasPrefix("invalid") ? nil : vector.expect), "\(vector.name)")
    guard let token else { return }
    #expect(token.serverID == Self.file.serverId)
    #expect(token.signedText(with: Self.keyring.newest) == vector.token, "\(vector.name)")
  }

  @Test func everyKindAndVerdictHasAVector() {
    #expect(
      Set(Self.file.vectors.map(\.expect)) == ["valid", "expired", "invalid", "invalid format"])
    let kinds = Set(Self.file.vectors.compactMap { decoded($0.token)?.kind })
    #expect(kinds == Set(PairingToken.Kind.allCases))
  }

  @Test func aTokenExpiresAfterItsLastSecond() throws {
    let token = try #require(decoded(Self.file.vectors[0].token))
    #expect(!token.hasExpired(at: token.expiresAt))
    #expect(!token.hasExpired(at: token.expiresAt + .milliseconds(999)))
    #expect(token.hasExpired(at: token.expiresAt + .seconds(1)))
  }

  @Test func anOlderKeyStillVerifies() throws {
    let newer = "n:" + base64URLEncoded([UInt8](repeating: 9, count: 32))
    let older = "v:" + base64URLEncoded(hexDecoded(Self.file.secretHex)!)
    let both = try Keyring(parsing: "\(newer),\(older)")
    let text = Self.file.vectors[0].token
    #expect(PairingToken(text, signedWith: both) != nil)
    #expect(PairingToken(text, signedWith: try Keyring(parsing: newer)) == nil)
  }

  /// A correctly signed token with any `payload` and any encoding of its two parts.
  private func forged(
    _ payload: String, prefix: String = "cdev_p_", parts: (String, String) -> String = Self.compact
  ) -> String {
    let signature = base64URLEncoded(hmacSHA256(payload, with: Self.keyring.newest))
    let text = parts(base64URLEncoded(Array(payload.utf8)), signature)
    return prefix + base64URLEncoded(Array(text.utf8))
  }

  private static func compact(_ payload: String, _ signature: String) -> String {
    #"{"p":"\#(payload)","s":"\#(signature)"}"#
  }

  private static let payload = file.vectors[0].payloadJsonBytes
  private static let accessPayload = file.vectors[1].payloadJsonBytes

  @Test func anUnchangedForgeryIsAccepted() {
    #expect(decoded(forged(Self.payload)) != nil)
    #expect(decoded(forged(Self.accessPayload, prefix: "cdev_s_")) != nil)
  }

  private static let changes: [(String, String)] = [
    (#""v":1"#, #""v":2"#), (#""v":1"#, #""v":1.0"#), (#""v":1,"#, ""),
    (#""v":1,"type":"pairing""#, #""type":"pairing","v":1"#),
    (#""mode":"local""#, #""mode":"cloud""#),
    (#""type":"pairing""#, #""type":"access""#), (#""type":"pairing""#, #""type":"pairin\u0067""#),
    (#""agent_id":"Zx3"#, #""agent_id":"Zx4"#), (#""server_id":"Zx3"#, #""server_id":"Zx"#),
    (#""server_id":"Zx3"#, #""server_id":"Z+3"#), (#""nonce":"nonce"#, #""nonce":"nonc"#),
    ("{", "{ "), ("}", "}\n"), ("}", #","device_id":"d"}"#), ("}", #","scope":"all"}"#),
    (#""v":1"#, #""v":1,"v":1"#), ("1767052790", "17670527900000000"), ("1767052790", "-1"),
    ("1767056390", "9223372036854775807"), ("1767052790", "\"1767052790\""), ("}", ""),
  ]

  @Test(arguments: changes.indices)
  func signedPayloadsInAnotherSpellingAreRefused(_ index: Int) throws {
    let (old, new) = Self.changes[index]
    let range = try #require(Self.payload.range(of: old))
    #expect(decoded(forged(Self.payload.replacingCharacters(in: range, with: new))) == nil)
  }

  @Test func aTokenNamesADeviceOnlyIfItsKindHasOne() {
    #expect(decoded(forged(Self.payload, prefix: "cdev_s_")) == nil)
    #expect(decoded(forged(Self.accessPayload, prefix: "cdev_p_")) == nil)
    #expect(decoded(forged(Self.accessPayload, prefix: "cdev_r_")) == nil)
    let nobody = Self.accessPayload.replacingOccurrences(
      of: #""dev-000000000001""#, with: #""""#)
    #expect(decoded(forged(nobody, prefix: "cdev_s_")) == nil)
  }

  @Test(arguments: [
    "", "cdev_", "cdev_p_", "cdev_c_", "cdev_x_", "CDEV_P_", " cdev_p_", "cdev_p__",
  ])
  func otherPrefixesAreRefused(_ prefix: String) {
    #expect(decoded(forged(Self.payload, prefix: prefix)) == nil || prefix == "cdev_p_")
    #expect(decoded(prefix) == nil)
  }

  @Test func otherSpellingsOfTheTwoPartsAreRefused() {
    let spellings: [(String, String) -> String] = [
      { #"{"s":"\#($1)","p":"\#($0)"}"# }, { #"{ "p":"\#($0)","s":"\#($1)"}"# },
      { #"{"p":"\#($0)","s":"\#($1)"} "# }, { #"{"p":"\#($0)","s":"\#($1)","x":1}"# },
      { #"{"p":"\#($0)=","s":"\#($1)"}"# }, { #"{"p":"\#($0)","s":"\#($1)="}"# },
      { #"{"p":"\#($0)","s":"\#($1.dropLast())"}"# }, { #"{"p":"","s":"\#($1)"}"# + $0 },
      { _, _ in "" }, { _, _ in "{}" },
    ]
    for spelling in spellings { #expect(decoded(forged(Self.payload, parts: spelling)) == nil) }
  }

  @Test(arguments: ["=", "==", "\n", " ", "A", "-", "é", "\0"])
  func trailingBytesAreRefused(_ rest: String) {
    #expect(decoded(Self.file.vectors[0].token + rest) == nil)
  }

  @Test func aTokenWithOneFlippedBitIsRefused() {
    let bytes = Array(Self.file.vectors[0].token.utf8)
    for index in bytes.indices {
      for bit in 0..<8 {
        var flipped = bytes
        flipped[index] ^= 1 << bit
        #expect(decoded(String(decoding: flipped, as: UTF8.self)) == nil, "\(index).\(bit)")
      }
    }
  }

  @Test(arguments: [0, 1, 10, 16_000_000] as [Int64])
  func aTokenSaysItsPlace(branch: Int64) {
    for generation: Int64 in [1, 2, 255, 65_536, 4_000_000_000] {
      let place = TokenPlace(generation: generation, branch: branch)
      let nonce = PairingToken.nonce(at: place, [UInt8](repeating: 7, count: 12))
      let token = PairingToken(
        .access, serverID: nonce, issuedAt: Timestamp(seconds: 0), nonce: nonce, deviceID: "d")
      #expect(nonce.utf8.count == 16)
      #expect(token.place == place)
    }
  }

  @Test func aTokenFromBeforeTokensHadBranchesHasBranchZero() {
    let nonce = base64URLEncoded([0, 0, 1, 2] + [UInt8](repeating: 7, count: 8))
    let token = PairingToken(
      .access, serverID: nonce, issuedAt: Timestamp(seconds: 0), nonce: nonce, deviceID: "d")
    #expect(token.place == TokenPlace(generation: 258, branch: 0))
  }

  /// `SWITCHBOARD_FUZZ` sets the number of inputs; the default is 20,000.
  @Test func fuzzNoMutatedTokenIsAccepted() {
    let count =
      ProcessInfo.processInfo.environment["SWITCHBOARD_FUZZ"].flatMap(Int.init) ?? 20_000
    var generator = SeededGenerator(state: 5)
    // Omits the token with an unknown prefix: its signature is valid under another prefix.
    let outer = Self.file.vectors.map(\.token).filter { !$0.hasPrefix("cdev_x_") }
    let prefixes = PairingToken.Kind.allCases.map(\.prefix) + ["cdev_c_"]
    // Decodes the parts, so that mutations reach their content.
    let inner = outer.map {
      String(decoding: base64URLDecoded(String($0.dropFirst(7)))!, as: UTF8.self)
    }
    let genuine = Set(outer)
    var forged: [String] = []
    for number in 0..<count {
      let text =
        number.isMultiple(of: 2)
        ? String(decoding: generator.mutate(outer), as: UTF8.self)
        : prefixes.randomElement(using: &generator)! + base64URLEncoded(generator.mutate(inner))
      if decoded(text) != nil, !genuine.contains(text) { forged.append(text) }
    }
    #expect(forged.isEmpty)
  }
}

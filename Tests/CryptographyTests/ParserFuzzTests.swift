import Support
import Testing

@testable import Cryptography

/// Broken inputs: every parser refuses or returns, and none crashes.
@Suite struct ParserFuzzTests {
  static let attestations = AppAttestVector.all.compactMap {
    $0.attestation?.attestationObject.bytes
  }

  @Test func acceptedCBORHasOneSize() {
    var generator = SeededGenerator(state: 11)
    let assertions = AppAttestVector.all.flatMap { $0.assertions ?? [] }.map(
      \.assertionObject.bytes)
    let heads: [UInt8] = [
      0xA1, 0x81, 0x00, 0x61, 0x41, 0x18, 0x58, 0x78, 0x20, 0xA2, 0x82, 0xF5, 0xF6, 0x19, 0x98,
      0xB8,
      0x80, 0xA0, 0x1B, 0x5B, 0x9B, 0xBB, 0x7B, 0x9F, 0xFF, 0xC0, 0x7F,
    ]
    var read = 0
    var slowest = SlowestCall(of: "CBOR")
    for number in 0..<FuzzTests.count {
      let bytes =
        number % 2 == 0 ? generator.text(of: heads) : generator.mutate(bytes: assertions)
      guard let value = slowest.time({ try? CBOR(decoding: bytes[...]) }) else { continue }
      read += 1
      if size(of: value) != bytes.count { Issue.record("\(hexEncoded(bytes)) has another form") }
    }
    #expect(read > FuzzTests.count / 100)
  }

  @Test func theCertificateParserSurvivesAnyBytes() throws {
    var generator = SeededGenerator(state: 12)
    let genuine = Self.attestations.flatMap { object in
      // Some vectors are broken intentionally.
      let chain = try? CBOR(decoding: object[...])["attStmt"]?["x5c"]?.array
      return chain?.compactMap { $0.bytes.map(Array.init) } ?? []
    }
    var read = 0
    var slowest = SlowestCall(of: "DER")
    for _ in 0..<FuzzTests.count {
      let bytes = generator.mutate(bytes: genuine)
      guard let certificate = slowest.time({ try? Certificate(der: bytes[...]) })
      else { continue }
      read += 1
      _ = certificate.isAuthority
      _ = certificate.publicKey
      _ = certificate.extensionValue("1.2.840.113635.100.8.2")
      if certificate.der != bytes { Issue.record("\(hexEncoded(bytes)) has another form") }
    }
    #expect(read > FuzzTests.count / 100)
  }

  @Test func theClientDataParserSurvivesAnyBytes() {
    var generator = SeededGenerator(state: 13)
    let genuine = WebAuthnVector.all.compactMap {
      ($0.authentication?.clientDataJSON ?? $0.credential?.response.clientDataJSON)?.bytes
    }
    let marks = Array("{}\"\\:,[]u0tfn1e-. type".utf8) + [0xEF, 0xBB, 0xBF, 0xED, 0xA0]
    var read = 0
    var slowest = SlowestCall(of: "client data")
    for number in 0..<FuzzTests.count {
      let bytes = number % 4 == 0 ? generator.text(of: marks) : generator.mutate(bytes: genuine)
      if slowest.time({ try? ClientData(bytes) }) != nil { read += 1 }
    }
    #expect(read > FuzzTests.count / 100)
  }

  @Test func mutatedAttestationsAreRefused() throws {
    var generator = SeededGenerator(state: 14)
    let verifier = AppAttest(appIDs: ["TEAM.app"], environments: [.production])
    for _ in 0..<(FuzzTests.count / 20) {
      let object = generator.mutate(bytes: Self.attestations)
      #expect(throws: AppAttestError.self) {
        try verifier.verifyAttestation(
          object, keyID: [], challengeDigest: [], at: 1_700_000_000_000)
      }
    }
  }

  @Test func mutatedRegistrationsGiveUsablePasskeysOrFail() throws {
    var generator = SeededGenerator(state: 15)
    let vector = try WebAuthnVector.named("w3c-none-es256")
    let genuine = WebAuthnVector.all.compactMap { $0.registration?.attestationObject.bytes }
    var registered = 0
    for _ in 0..<(FuzzTests.count / 4) {
      let passkey = try? vector.register { $0 = generator.mutate(bytes: genuine) }
      guard let passkey else { continue }
      registered += 1
      #expect((1...1023).contains(passkey.credentialID.count))
      _ = try COSEKey(CBOR(decoding: passkey.publicKey[...]))
    }
    #expect(registered > 0)
  }

  /// Inputs of the maximum size, with the most expensive patterns.
  @Test(
    arguments: [
      [0x81], [0xA1, 0x00], [0x80], [0x61, 0x61], [0x9A, 0, 0, 0xFF, 0xFF], [0x30, 0x80],
    ]
      as [[UInt8]])
  func theLargestInputsAreRefused(_ pattern: [UInt8]) {
    let bytes = Array(repeatElement(pattern, count: CBOR.maximumSize / pattern.count).joined())
    #expect(throws: CryptographyError.self) { try CBOR(decoding: bytes[...]) }
    #expect(throws: CryptographyError.self) { try Certificate(der: bytes[...]) }
    #expect(throws: WebAuthnError.self) { try ClientData(bytes) }
  }

  /// The size of the accepted encoding of `value`, in bytes.
  private func size(of value: CBOR) -> Int {
    func head(_ argument: Int64) -> Int {
      switch argument {
      case ..<24: 1
      case ..<256: 2
      case ..<65_536: 3
      case ..<4_294_967_296: 5
      default: 9
      }
    }
    func size(of key: CBOR.Key) -> Int {
      switch key {
      case .integer(let number): self.size(of: .integer(number))
      case .text(let name): self.size(of: .text(name))
      }
    }
    return switch value {
    case .integer(let number): head(number < 0 ? -1 - number : number)
    case .bytes(let bytes): head(Int64(bytes.count)) + bytes.count
    case .text(let text): head(Int64(text.utf8.count)) + text.utf8.count
    case .array(let elements):
      elements.reduce(head(Int64(elements.count))) { $0 + self.size(of: $1) }
    case .map(let members):
      members.reduce(head(Int64(members.count))) { $0 + size(of: $1.key) + self.size(of: $1.value) }
    case .boolean, .null: 1
    }
  }
}

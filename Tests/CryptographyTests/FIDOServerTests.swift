import Support
import Testing

@testable import Cryptography

/// Items of the FIDO Alliance's conformance test for servers, by their public names: `Resp-2` to `Resp-9`, `A` and
/// `B` of MakeCredential, `Resp-2` and `Resp-3` of GetAssertion. `FIDOStructureTests` has `Resp-1`.
@Suite struct FIDOServerTests {
  /// Our rules that differ from an item.
  enum Rule: String {
    /// Accepts: we ask for no attestation, so its format and statement are ignored (WebAuthn §7.1).
    case statementIgnored
    /// Accepts: Level 3 has no token binding, and unknown members are ignored.
    case tokenBindingIgnored
    /// Refuses: the options offer ES256, EdDSA and RS256. The items leave the others open, except SHA-1, which is unsafe.
    case algorithmNotOffered
    /// Refuses: a user is always present (WebAuthn §7.2).
    case userNotPresent
  }

  // MARK: MakeCredential

  /// An answer that a test changes. `object` has all members but the authenticator data, which are in `data`.
  private struct Creation {
    var clientData = FIDOClientData(type: "webauthn.create")
    var data: CBOR?
    var object: [CBOR.Key: CBOR] = [.text("fmt"): .text("packed")]

    init(_ key: FIDOKey, _ flags: UInt8 = 0x45, data: [UInt8]? = nil, then rest: [UInt8] = [])
      throws
    {
      let data = try FIDOKey.authenticatorData(flags, then: data ?? key.credentialData()) + rest
      self.data = .bytes(data[...])
      let signature = try key.signature(of: data + sha256(clientData.json))
      object[.text("attStmt")] = .map([
        .text("alg"): .integer(-7), .text("sig"): .bytes(signature[...]),
      ])
    }

    subscript(_ name: String) -> CBOR? {
      get { object[.text(name)] }
      set { object[.text(name)] = newValue }
    }

    func isAccepted(as whole: [UInt8]? = nil) -> Bool {
      var object = object
      object[.text("authData")] = data
      return FIDOServerTests.isRegistered(clientData.json, whole ?? CBOR.map(object).encoded)
    }
  }

  private static func isRegistered(_ clientData: [UInt8], _ object: [UInt8]) -> Bool {
    let digest = sha256(FIDOKey.challenge)
    return
      (try? FIDOKey.party.verifyRegistration(
        clientDataJSON: clientData, attestationObject: object, challengeDigest: digest)) != nil
  }

  @Test func clientDataOfRegistrations() throws {
    let key = try FIDOKey()
    var tally = ForeignTally()
    tally.add("valid", try Creation(key).isAccepted(), isValid: true)
    for item in FIDOClientData.items(type: "webauthn.create", other: "webauthn.get") {
      var creation = try Creation(key)
      creation.clientData.members[item.member] = item.value
      tally.add(
        "Resp-2 F-\(item.number)", creation.isAccepted(), isValid: false,
        tolerance: item.number >= 15 ? Rule.tokenBindingIgnored.rawValue : nil)
    }
    #expect(tally.unexplained == [])
    #expect(tally.counts == ["accepted": 1, "refused": 14, "tokenBindingIgnored": 3])
  }

  @Test func attestationObjects() throws {
    let key = try FIDOKey()
    let valid = try Creation(key)
    let extensions = CBOR.map([.text("example.extension"): .text("x")]).encoded
    var tally = ForeignTally()
    func add(_ name: String, _ creation: Creation, isValid: Bool = false) {
      tally.add("Resp-3 \(name)", creation.isAccepted(), isValid: isValid)
    }
    func change(_ member: String, _ value: CBOR?) -> Creation {
      var creation = valid
      creation[member] = value
      return creation
    }
    add("P-1", try Creation(key, 0xC5, then: extensions), isValid: true)
    tally.add("Resp-3 F-1", valid.isAccepted(as: CBOR.array([.null]).encoded), isValid: false)
    add("F-2", change("fmt", nil))
    add("F-3", change("fmt", .integer(1)))
    add("F-4", change("attStmt", nil))
    add("F-5", change("attStmt", .array([])))
    for (number, data) in [(6, nil), (7, .text("x")), (8, .bytes([]))] as [(Int, CBOR?)] {
      var creation = valid
      creation.data = data
      add("F-\(number)", creation)
    }
    add("F-9", try Creation(key, 0x05))
    add("F-10", try Creation(key, 0x05, data: []))
    add("F-11", try Creation(key, 0x45, data: []))
    add("F-12", try Creation(key, then: [0]))
    #expect(tally.unexplained == [])
    #expect(tally.counts == ["accepted": 1, "refused": 12])
  }

  /// The numbers are those of COSE. The key is of P-256 where our rule refuses the algorithm before its key.
  @Test func algorithms() throws {
    let key = try FIDOKey()
    var tally = ForeignTally()
    let others: [(Int, Int64)] = [
      (1, -47), (2, -37), (3, -38), (4, -39), (6, -258), (7, -259), (8, -65535), (10, -35),
      (11, -36),
    ]
    for (number, algorithm) in others {
      tally.add(
        "Resp-4 P-\(number)",
        try Creation(key, data: key.credentialData(algorithm: algorithm)).isAccepted(),
        isValid: true, policy: Rule.algorithmNotOffered.rawValue)
    }
    tally.add("Resp-4 P-9", try Creation(key).isAccepted(), isValid: true)
    for (number, example) in [(5, "w3c-packed-rs256"), (12, "w3c-packed-eddsa")] {
      let vector = try WebAuthnVector.named(example)
      tally.add("Resp-4 P-\(number)", (try? vector.register()) != nil, isValid: true)
    }
    #expect(tally.unexplained == [])
    #expect(tally.counts == ["accepted": 3, "algorithmNotOffered": 9])
  }

  // MARK: Attestation statements

  /// A change to the statement of an example of the standard.
  private struct Statement {
    let items: String
    let example: String
    /// The changed members; null removes one.
    let members: [String: CBOR]

    init(_ items: String, _ example: String, _ members: [String: CBOR] = [:]) {
      self.items = items
      self.example = example
      self.members = members
    }

    func isAccepted() throws -> Bool {
      let vector = try WebAuthnVector.named("w3c-\(example)")
      return
        (try? vector.register { bytes in
          guard case .map(var object) = try? CBOR(decoding: bytes[...]),
            case .map(var statement) = object[.text("attStmt")]
          else {
            Issue.record("no attestation object")
            return
          }
          for (name, value) in members where name != "fmt" {
            statement[.text(name)] = value == .null ? nil : value
          }
          object[.text("attStmt")] = .map(statement)
          if let format = members["fmt"] { object[.text("fmt")] = format }
          bytes = CBOR.map(object).encoded
        }) != nil
    }
  }

  private static let wrong = CBOR.bytes([0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01, 0x01])
  private static let unknown = CBOR.text("unknown")
  private static let statements = [
    Statement("Resp-3 F-13", "packed-self-es256", ["alg": .null, "sig": .null]),
    Statement("Resp-3 F-14", "packed-self-es256", ["alg": .null]),
    Statement("Resp-3 F-15", "packed-self-es256", ["alg": .text("-7")]),
    Statement("Resp-3 F-16", "packed-self-es256", ["alg": .integer(-257)]),
    Statement("Resp-3 F-17", "packed-self-es256", ["sig": .null]),
    Statement("Resp-3 F-18", "packed-self-es256", ["sig": .text("x")]),
    Statement("Resp-3 F-19", "packed-self-es256", ["sig": .bytes([])]),
    Statement("Resp-5 P-1 P-2", "packed-es256"),
    Statement("Resp-5 F-1", "packed-es256", ["fmt": unknown]),
    Statement("Resp-5 F-2 F-13 F-14", "packed-es256", ["sig": wrong]),
    Statement("Resp-5 F-3", "packed-es256", ["x5c": .null]),
    Statement("Resp-5 F-4", "packed-es256", ["x5c": .text("x")]),
    Statement("Resp-5 F-5", "packed-es256", ["x5c": .array([])]),
    Statement(
      "Resp-5 F-6 F-7 F-8 F-9 F-10 F-11 F-12", "packed-es256", ["x5c": .array([wrong, wrong])]),
    Statement("Resp-6 P-1", "packed-self-es256"),
    Statement("Resp-6 F-1", "packed-self-es256", ["sig": wrong]),
    Statement("Resp-6 F-2", "packed-self-es256", ["x5c": .array([wrong])]),
    Statement("Resp-6 F-3", "packed-self-es256", ["fmt": unknown]),
    Statement("Resp-7 P-1 P-2", "none-es256"),
    Statement("Resp-7 F-1", "packed-es256", ["fmt": .text("none")]),
    Statement("Resp-8 P-1", "fido-u2f-es256"),
    Statement("Resp-8 F-1", "packed-es256", ["fmt": .text("fido-u2f")]),
    Statement("Resp-8 F-2", "fido-u2f-es256", ["sig": wrong]),
    Statement("Resp-9 P-1 P-3", "tpm-es256"),
    Statement("Resp-9 P-2", "tpm-es256", ["alg": .integer(-65535)]),
    Statement("Resp-9 F-1", "tpm-es256", ["x5c": .array([wrong, wrong])]),
    Statement("Resp-9 F-2 F-3", "tpm-es256", ["certInfo": .bytes([0])]),
    Statement("Resp-9 F-4", "tpm-es256", ["pubArea": .bytes([0])]),
    Statement("Resp-A P-1", "android-key-es256"),
    Statement("Resp-A F-1 F-2 F-3", "android-key-es256", ["x5c": .array([wrong, wrong])]),
    Statement("Resp-B P-1", "none-es256", safetyNet()),
    Statement("Resp-B F-1", "none-es256", safetyNet(version: "")),
    Statement("Resp-B F-2 F-3 F-4 F-5 F-6 F-7", "none-es256", safetyNet(response: [])),
  ]

  private static func safetyNet(
    version: String = "1", response: [UInt8] = Array("a.b.c".utf8)
  ) -> [String: CBOR] {
    [
      "fmt": .text("android-safetynet"), "ver": .text(version), "response": .bytes(response[...]),
    ]
  }

  @Test func attestationStatementsAreIgnored() throws {
    var tally = ForeignTally()
    for statement in Self.statements {
      let isAccepted = try statement.isAccepted()
      let words = statement.items.split(separator: " ")
      for item in words.dropFirst() {
        let isValid = item.hasPrefix("P")
        tally.add(
          "\(words[0]) \(item)", isAccepted, isValid: isValid,
          tolerance: isValid ? nil : Rule.statementIgnored.rawValue)
      }
    }
    #expect(tally.unexplained == [])
    #expect(tally.counts == ["accepted": 11, "statementIgnored": 41])
  }

  // MARK: GetAssertion

  private static func isSignedIn(
    by key: FIDOKey, _ clientData: [UInt8], _ data: [UInt8], at party: RelyingParty = FIDOKey.party,
    signing hash: [UInt8]? = nil, stored count: UInt32 = 0
  ) throws -> Bool {
    let signature = try key.signature(of: data + (hash ?? sha256(clientData)))
    let assertion = PasskeyAssertion(
      credentialID: key.id, clientDataJSON: clientData, authenticatorData: data,
      signature: signature)
    let passkey = try key.passkey(signCount: count)
    let digest = sha256(FIDOKey.challenge)
    return
      (try? party.verifyAuthentication(
        assertion, by: passkey, of: [1], offered: [key.id], challengeDigest: digest)) != nil
  }

  @Test func clientDataOfSignIns() throws {
    let key = try FIDOKey()
    let data = FIDOKey.authenticatorData(0x05)
    let valid = FIDOClientData(type: "webauthn.get")
    var tally = ForeignTally()
    tally.add("valid", try Self.isSignedIn(by: key, valid.json, data), isValid: true)
    for item in FIDOClientData.items(type: "webauthn.get", other: "webauthn.create") {
      var clientData = valid
      clientData.members[item.member] = item.value
      tally.add(
        "Resp-2 F-\(item.number)", try Self.isSignedIn(by: key, clientData.json, data),
        isValid: false, tolerance: item.number >= 15 ? Rule.tokenBindingIgnored.rawValue : nil)
    }
    #expect(tally.unexplained == [])
    #expect(tally.counts == ["accepted": 1, "refused": 14, "tokenBindingIgnored": 3])
  }

  @Test func authenticatorDataOfSignIns() throws {
    let key = try FIDOKey()
    let json = FIDOClientData(type: "webauthn.get").json
    let preferred = RelyingParty(
      id: "example.org", origins: ["https://example.org"], requiresUserVerification: false)
    let extensions = CBOR.map([.text("example.extension"): .boolean(true)]).encoded
    func data(
      _ flags: UInt8, count: UInt32 = 0, party: String = "example.org", then rest: [UInt8] = []
    ) -> [UInt8] {
      FIDOKey.authenticatorData(flags, count: count, party: party, then: rest)
    }
    var tally = ForeignTally()
    func add(_ item: String, _ isAccepted: Bool, policy: Rule? = nil) {
      tally.add(
        "Resp-3 \(item)", isAccepted, isValid: item.hasPrefix("P"), policy: policy?.rawValue)
    }
    for item in ["P-1", "P-2", "P-3"] { add(item, try Self.isSignedIn(by: key, json, data(0x05))) }
    for item in ["P-4", "P-7"] {
      add(
        item, try Self.isSignedIn(by: key, json, data(0x00), at: preferred), policy: .userNotPresent
      )
    }
    add("P-5", try Self.isSignedIn(by: key, json, data(0x01), at: preferred))
    add("P-6", try Self.isSignedIn(by: key, json, data(0x05), at: preferred))
    add("P-8", try Self.isSignedIn(by: key, json, data(0x85, then: extensions)))
    add("F-1", try Self.isSignedIn(by: key, json, data(0x05, then: [0])))
    add("F-2", try Self.isSignedIn(by: key, json, data(0x05, party: "example.com")))
    add("F-3", try Self.isSignedIn(by: key, json, data(0x05), signing: sha256("other")))
    add("F-4", try Self.isSignedIn(by: key, json, data(0x05, count: 7), stored: 7))
    add("F-5", try Self.isSignedIn(by: key, json, data(0x01)))
    #expect(tally.unexplained == [])
    #expect(tally.counts == ["accepted": 6, "refused": 5, "userNotPresent": 2])
  }
}

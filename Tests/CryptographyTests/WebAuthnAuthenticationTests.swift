import Cryptography
import Testing

/// Sign-ins with passkeys (WebAuthn §7.2).
@Suite struct WebAuthnAuthenticationTests {
  /// The failing step for each reason in vectors.
  static let steps: [String: WebAuthnError] = [
    "be-changed": .backup, "challenge": .challenge, "crossOrigin": .crossOrigin, "origin": .origin,
    "rpid": .relyingParty, "short": .authenticatorData, "signature": .signature,
    "signcount": .signCount, "type": .type, "uv": .userVerification,
  ]

  let vector: WebAuthnVector
  let passkey: Passkey

  init() throws {
    vector = try WebAuthnVector.named("w3c-none-es256")
    passkey = try vector.passkey()
  }

  @Test func allVectorsAreRead() {
    #expect(WebAuthnVector.all.count == 30)
  }

  @Test(arguments: WebAuthnVector.all)
  func signInsPassOrFailAtTheExpectedStep(_ vector: WebAuthnVector) throws {
    switch try vector.authenticate(by: vector.passkey()) {
    case .success: #expect(vector.isAccepted)
    case .failure(let error):
      #expect(!vector.isAccepted)
      #expect(error == vector.reason.map { Self.steps[$0] } ?? .userVerification)
    }
  }

  @Test func thePasskeyMustBeOfferedOrNameItsOwner() throws {
    func outcome(
      _ offered: [[UInt8]], handle: [UInt8]?, by passkey: Passkey?
    ) throws -> WebAuthnError? {
      let result = try vector.authenticate(by: passkey, offered: offered) { $0.userHandle = handle }
      if case .failure(let error) = result { return error }
      return nil
    }
    let (id, owner) = (passkey.credentialID, WebAuthnVector.owner)
    #expect(try outcome([[1], id], handle: nil, by: passkey) == nil)
    #expect(try outcome([id], handle: owner, by: passkey) == nil)
    #expect(try outcome([], handle: owner, by: passkey) == nil)
    #expect(try outcome([], handle: nil, by: passkey) == .credential)
    #expect(try outcome([], handle: [1], by: passkey) == .credential)
    #expect(try outcome([id], handle: [1], by: passkey) == .credential)
    #expect(try outcome([[1]], handle: owner, by: passkey) == .credential)
  }

  @Test func theIDOfAnotherPasskeyIsRefused() throws {
    let result = try vector.authenticate(by: passkey, offered: [passkey.credentialID, [1]]) {
      $0.credentialID = [1]
    }
    #expect(result == .failure(.credential))
  }

  @Test func unknownPasskeysFailLikeWrongSignatures() throws {
    #expect(try vector.authenticate(by: nil) == .failure(.signature))
    #expect(try vector.authenticate(by: passkey) { $0.signature[10] ^= 1 } == .failure(.signature))
  }

  @Test(
    arguments: [
      (0x00, .userPresence), (0x10, .userPresence), (0x01, .signature), (0x05, .signature),
      (0x11, .backup), (0x09, .signature), (0x59, .authenticatorData), (0x99, .authenticatorData),
      (0x3B, .signature),
    ] as [(UInt8, WebAuthnError)])
  func flagsAreCheckedAtSignIn(_ flags: UInt8, _ expected: WebAuthnError) throws {
    let result = try vector.authenticate(by: passkey) { $0.authenticatorData[32] = flags }
    #expect(result == .failure(expected))
  }

  @Test(
    arguments: [
      (0x19, [0], .authenticatorData), (0x19, [0xA0], .authenticatorData),
      (0x99, [0xA0], .signature),
      (0x99, [], .authenticatorData), (0x99, [0x80], .authenticatorData),
      (0x99, [0xA0, 0], .authenticatorData), (0x99, [0xA1], .authenticatorData),
    ] as [(UInt8, [UInt8], WebAuthnError)])
  func undeclaredTrailingBytesAreRefused(
    _ flags: UInt8, _ tail: [UInt8], _ expected: WebAuthnError
  ) throws {
    let result = try vector.authenticate(by: passkey) {
      $0.authenticatorData[32] = flags
      $0.authenticatorData += tail
    }
    #expect(result == .failure(expected))
  }

  /// The vector's counter is 4.
  @Test(
    arguments: [(0, true), (3, true), (4, false), (5, false), (.max, false)]
      as [(UInt32, Bool)])
  func theSignCountMustRise(_ stored: UInt32, _ isAccepted: Bool) throws {
    let vector = try WebAuthnVector.named("n17-sign-count-lower")
    let passkey = Passkey(
      credentialID: passkey.credentialID, publicKey: passkey.publicKey, signCount: stored,
      isBackupEligible: true, isBackedUp: true)
    switch try vector.authenticate(by: passkey) {
    case .success(let use):
      #expect(isAccepted)
      #expect(use.signCount == 4)
    case .failure(let error):
      #expect(!isAccepted)
      #expect(error == .signCount)
    }
  }

  @Test(arguments: [(0, true), (1, false), (.max, false)] as [(UInt32, Bool)])
  func zeroIsAcceptedOnlyIfTheSignCountWasAlwaysZero(_ stored: UInt32, _ isAccepted: Bool) throws {
    let passkey = Passkey(
      credentialID: passkey.credentialID, publicKey: passkey.publicKey, signCount: stored,
      isBackupEligible: true, isBackedUp: false)
    switch try vector.authenticate(by: passkey) {
    case .success(let use):
      #expect(isAccepted)
      #expect(use.signCount == 0)
      #expect(use.isBackedUp)
    case .failure(let error):
      #expect(!isAccepted)
      #expect(error == .signCount)
    }
  }
}

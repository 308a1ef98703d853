import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// A key of a phone, made with the command `openssl`.
struct PhoneKey: Sendable {
  let publicKey: String
  private let privateKey: String

  static let one = PhoneKey(
    publicKey:
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEUqRyAyCAOn9+mfZ1uBC0xWpznrB7UI4YYoGRbi/5/uWxSHA17DYFs67UOkJBQEWo/0yejjl5+cRgJovHix97yQ==",
    privateKey: """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgPetj5+z2UkmrTSXn
      pGQpBkQm6comDXoFCp4ubdr68Z2hRANCAARSpHIDIIA6f36Z9nW4ELTFanOesHtQ
      jhhigZFuL/n+5bFIcDXsNgWzrtQ6QkFARaj/TJ6OOXn5xGAmi8eLH3vJ
      -----END PRIVATE KEY-----

      """)
  static let two = PhoneKey(
    publicKey:
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE+kZNDZgIp0nv71UsWQXaEDztE+tdaNdBY0jyj3jL5fYG2HjyklH74THGITITRSZT/SMy/7FIdlyAbi2NJ1Tjgg==",
    privateKey: """
      -----BEGIN PRIVATE KEY-----
      MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4LJSU5tzTFg7XelS
      EyC93l1je9sk2ymP4JOPIIl16XGhRANCAAT6Rk0NmAinSe/vVSxZBdoQPO0T611o
      10FjSPKPeMvl9gbYePKSUfvhMcYhMhNFJlP9IzL/sUh2XIBuLY0nVOOC
      -----END PRIVATE KEY-----

      """)

  /// The data that a phone signs: the bytes of a challenge, or its text.
  enum Reading: CaseIterable {
    case bytes, text
  }

  /// A signature of `challenge` as phones send it: DER in base64.
  func sign(_ challenge: String, as reading: Reading = .bytes) -> String {
    let message =
      switch reading {
      case .bytes: base64Decoded(challenge) ?? []
      case .text: Array(challenge.utf8)
      }
    return base64Encoded(es256Signature(of: message, by: privateKey))
  }
}

extension AccountPath {
  static let setup = "/api/mobile/auth/biometric/setup"
  static let challenge = "/api/mobile/auth/biometric/challenge"
  static let biometricVerify = "/api/mobile/auth/biometric/verify"
}

extension TestApplication {
  func setUp(
    _ key: PhoneKey = .one, of person: SignedIn, type: String = "face"
  ) throws -> String {
    let answer = send(
      "POST", AccountPath.setup,
      jsonText([
        "deviceId": person.deviceID, "publicKey": key.publicKey, "biometricType": type,
      ]), token: person.accessToken)
    try #require(answer.status == 200, "\(answer.text)")
    return try #require(answer.string("biometricId"))
  }

  /// Sets up the first key after a sign-up, and signs in with it, which is a proof.
  func proveWithKey(_ person: SignedIn) throws -> SignedIn {
    _ = try setUp(of: person)
    let answer = try signIn(with: .one, device: person.deviceID)
    return SignedIn(
      email: person.email, deviceID: person.deviceID, accountID: person.accountID,
      accessToken: try #require(answer.accessToken),
      refreshToken: try #require(answer.refreshToken))
  }

  func requestChallenge(
    _ device: String = "device-1", credential: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    send(
      "POST", AccountPath.challenge, jsonText(["deviceId": device]),
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [], address: address)
  }

  /// A new challenge; resets the limit first.
  func challenge(
    _ device: String = "device-1", credential: String? = nil, address: String = "192.0.2.1"
  ) throws -> String {
    sql("UPDATE rate_limits SET hits = 0 WHERE name = 'biometric-challenge'")
    let answer = requestChallenge(device, credential: credential, address: address)
    return try #require(answer.string("challenge"))
  }

  func verify(
    _ challenge: String, signature: String, device: String = "device-1",
    credential: String? = nil, address: String = "192.0.2.1"
  ) -> Answer {
    send(
      "POST", AccountPath.biometricVerify,
      jsonText(["deviceId": device, "challenge": challenge, "signature": signature]),
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [], address: address)
  }

  /// Asks for a challenge, and answers it with a signature by `key`.
  func signIn(
    with key: PhoneKey, device: String = "device-1", credential: String? = nil,
    address: String = "192.0.2.1"
  ) throws -> Answer {
    let challenge = try challenge(device, credential: credential, address: address)
    return verify(
      challenge, signature: key.sign(challenge), device: device, credential: credential,
      address: address)
  }
}

extension Answer {
  var isWrongSignature: Bool {
    isError(
      401, "unauthorized",
      "Your face or fingerprint was not accepted. Try again, or sign in with a code.")
  }

  /// Whether the device is locked for `seconds`.
  func isLocked(for seconds: Int) -> Bool {
    isError(429, "too_many_requests") && retryAfter == seconds
  }
}

import Cryptography
import Foundation
import Testing

/// Biometric keys. The signatures were made with the command `openssl` and the key of
/// ``P256Tests``.
@Suite struct BiometricKeyTests {
  static let publicKey = P256Tests.publicKey.split(separator: "\n").dropFirst().dropLast().joined()
  static let challenge = [UInt8](0..<32)
  static let ofBytes =
    "MEYCIQD1rIPgctATHkrgrOlLb31UNpeAJ1nDfKU0T/3FkrTvxgIhAJlsW4i3MVKLD1aapvndsQLYE1rVCuDdXHAFusF0Nb/7"
  static let ofText =
    "MEUCIC3SUbWb5sWmyi/04PuFaIDFZzX/2H4cM6c7Kqy1DIfFAiEAmdtqVYrAO+XQetNOKF48DxQ2nU86KQoGzSlNvKXrpvs="
  static let ofURLText =
    "MEQCIB3UHw6qmkwiGLlL/v7idqiVoqYNjgV8jz2kcx+ub3Q8AiBjz/40quWdRyxA2Ccu00OzlPYR87kKXDjUlXZ2Q4C7Og=="

  let key: BiometricKey

  init() throws { key = try BiometricKey(base64: Self.publicKey) }

  @Test(arguments: [ofBytes, ofText, ofURLText])
  func theBytesOrTheTextOfAChallengeMayBeSigned(_ signature: String) {
    #expect(key.isSignature(signature, of: Self.challenge))
  }

  @Test(arguments: [ofBytes, ofText, ofURLText])
  func signaturesWithAFlippedBitAreRefused(_ signature: String) throws {
    let bytes = try #require(base64Decoded(signature))
    for number in 0..<(8 * bytes.count) {
      let forged = base64Encoded(flip(number, of: bytes))
      #expect(!key.isSignature(forged, of: Self.challenge))
    }
  }

  @Test(arguments: [ofBytes, ofText, ofURLText])
  func challengesWithAFlippedBitAreRefused(_ signature: String) {
    for number in 0..<256 {
      #expect(!key.isSignature(signature, of: flip(number, of: Self.challenge)))
    }
  }

  /// The first value comes from an app that could not sign.
  @Test(arguments: [
    "signed_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=_1763733600000", "", "AA==", ofBytes + "=",
    ofBytes + "\n", "MAYCAQECAQE=",
    "MAYCAQACAQA=", String(ofBytes.dropLast(4)),
  ])
  func malformedSignaturesAreRefused(_ signature: String) {
    #expect(!key.isSignature(signature, of: Self.challenge))
  }

  /// Phones send DER instead of r and s as 64 bytes.
  @Test func signaturesThatAreNotDERAreRefused() throws {
    let signer = try P256PrivateKey(pem: P256Tests.privateKey)
    let signature = base64Encoded(try signer.signES256(Self.challenge.span))
    #expect(!key.isSignature(signature, of: Self.challenge))
  }

  @Test(arguments: [[], [0], Array(challenge.dropLast()), challenge + [0]])
  func challengesOfAnotherSizeAreRefused(_ challenge: [UInt8]) {
    #expect(!key.isSignature(Self.ofText, of: challenge))
  }

  @Test(arguments: [
    "mwsim_device-123_1763733600000", "", "AAAA", String(publicKey.dropLast(4)), publicKey + "AAAA",
    publicKey + "\n",
  ])
  func textsThatAreNotKeysAreMalformed(_ text: String) {
    #expect(throws: CryptographyError.malformed) { try BiometricKey(base64: text) }
  }

  @Test func keysOfOtherAlgorithmsAreInvalid() {
    // The keys are for P-384 and Ed25519.
    for text in [
      "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEw5rnPlXwuJ/M0VnRGfD+VmA9SI+cRMCtSNc+l1R3UUgcOVzZwZOi03VQvpEAiy2qEJ7BctVz1AZ/hW41Qzw0FQcTbyCxAXDJzIxjcpiVEBmx4BJ3pTu9WHtaQ2wmYjo2",
      "MCowBQYDK2VwAyEASkyzBpABL/cNRAQeJWVkRx2HMoo3whERA/TQmAPpXTI=",
    ] {
      #expect(throws: CryptographyError.invalidKey) { try BiometricKey(base64: text) }
    }
  }
}

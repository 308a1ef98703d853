import Cryptography

/// The reason why an app has not proven that it is genuine.
package struct AttestationRefusal: Error, Hashable, Sendable {
  /// The word in the audit log and in answers.
  package let code: String

  package static let unknownChallenge = AttestationRefusal(code: "challenge_unknown")
  package static let spentChallenge = AttestationRefusal(code: "challenge_spent")
  package static let expiredChallenge = AttestationRefusal(code: "challenge_expired")
  /// The app is not configured, or another app requested the challenge.
  package static let otherApp = AttestationRefusal(code: "app")
  package static let noAssertion = AttestationRefusal(code: "assertion_missing")
  package static let stub = AttestationRefusal(code: "stub")
  package static let noChallenge = AttestationRefusal(code: "challenge_missing")
  package static let malformedChallenge = AttestationRefusal(code: "challenge_malformed")
  /// The signed text names another method or another URL.
  package static let otherRequest = AttestationRefusal(code: "challenge_mismatch")
  /// The time in the signed text is too far from now.
  package static let otherTime = AttestationRefusal(code: "challenge_time")
  package static let malformed = AttestationRefusal(.malformed)
  package static let unknownKey = AttestationRefusal(code: "key_unknown")
  package static let keyOfAnotherDevice = AttestationRefusal(code: "key_of_another_device")
  /// The app or the environment of the key is not accepted any more.
  package static let outdatedKey = AttestationRefusal(code: "key_not_accepted")

  private init(code: String) { self.code = code }

  init(_ error: AppAttestError) { code = error.rawValue }
}

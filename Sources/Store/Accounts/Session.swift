package import Base
import MariaDB

/// One sign-in of one device: a family of rotating refresh tokens.
package struct Session: Sendable, Equatable {
  /// `sid`
  package let id: String
  package let accountID: String
  package let clientDeviceID: String
  /// Generation of the newest refresh token, from 1.
  package let generation: Int64
  /// When the newest generation was made.
  package let rotatedAt: Timestamp
  /// Expiry of the newest refresh token.
  package let expiresAt: Timestamp

  /// The time for which the beginning of a session counts as a proof.
  static let proofLifetime = Duration.seconds(600)
  /// How far in the future a proof may be, because the clocks of hosts differ. Without a bound, a clock
  /// that was ahead would lengthen the time of the proof when it is set back.
  static let clockTolerance = Duration.seconds(60)
  /// Lifetime of a refresh token that is not used.
  static let idleLifetime = Duration.seconds(30 * 86_400)
  /// Lifetime of a family, however often it is refreshed.
  static let lifetime = Duration.seconds(365 * 86_400)
}

/// The session of an admitted caller.
struct LiveSession {
  let deviceID: String
  let generation: Int64
  let confirmed: Bool
  let credential: StoredCredential?

  /// The columns device_id, generation, confirmed, credential_hash, credential_expires_at, in that
  /// order from 0.
  init(row: borrowing Row) {
    deviceID = row.text(0)
    generation = row.integer(1)
    confirmed = row.boolean(2)
    credential = StoredCredential(row: row, hash: 3, expiresAt: 4)
  }

  /// Checks the device credential, if the request has one.
  ///
  /// - Throws: ``Refusal/credential(account:device:)``.
  func checkCredential(of caller: Caller, at now: Timestamp) throws(Refusal) {
    guard let hash = caller.credentialHash else { return }
    guard credential?.matches(hash, at: now) == true else {
      throw .credential(account: caller.accountID, device: deviceID)
    }
  }

  /// Whether the caller is the first to use an access token of the newest generation.
  func isFirstUse(by caller: Caller) -> Bool { !confirmed && generation == caller.generation }
}

/// The beginning of a session: the column `began_by`. It limits the rights of the session.
enum SessionBeginning: String {
  /// Proves nothing; the session may add the first passkey or trusted key of its account, once.
  case signUp = "sign_up"
  case code
  case passkey
  /// A signature by a biometric key that was set up with a proof.
  case trustedKey = "trusted_key"
  /// A signature by a biometric key that was set up with only a bearer.
  case untrustedKey = "untrusted_key"

  /// Whether it proves the identity of the owner.
  var isProof: Bool {
    switch self {
    case .code, .passkey, .trustedKey: true
    case .signUp, .untrustedKey: false
    }
  }
}

/// The reason for the end of a session: the column `end_reason`.
enum EndReason: String {
  case logout
  case logoutAll = "logout_all"
  case deviceRevoked = "device_revoked"
  case reuse
  /// A new sign-in to the same account on the same device.
  case signedInAgain = "signed_in_again"
  case administrator
  /// Another person proved to be the owner of the e-mail address.
  case handedOver = "handed_over"
}

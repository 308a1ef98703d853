package import Base
import MariaDB

/// One sign-in of one device: a family of rotating refresh tokens.
package struct Session: Sendable, Equatable {
  /// `sid`
  package let id: String
  package let accountID: String
  package let clientDeviceID: String
  /// Of the newest refresh token, from 1.
  package let generation: Int64
  /// When the newest generation was made.
  package let rotatedAt: Timestamp
  /// Of the newest refresh token.
  package let expiresAt: Timestamp

  /// How long what began a session proves who holds the account.
  static let proofLifetime = Duration.seconds(600)
  /// A refresh token's life, if it is not used.
  static let idleLifetime = Duration.seconds(30 * 86_400)
  /// After this the family ends however busy it is.
  static let lifetime = Duration.seconds(365 * 86_400)
}

/// The session of a caller who was let in.
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
}

/// How a session began: the column `began_by`. What the session may do never exceeds it.
enum SessionBeginning: String {
  /// Proves nothing; the session may add the first passkey or trusted key of its account, once.
  case signUp = "sign_up"
  case code
  case passkey
  /// A signature by a biometric key that was set up with a proof.
  case trustedKey = "trusted_key"
  /// A signature by a biometric key that was set up with a bearer alone.
  case untrustedKey = "untrusted_key"

  /// Whether it proves who holds the account.
  var isProof: Bool {
    switch self {
    case .code, .passkey, .trustedKey: true
    case .signUp, .untrustedKey: false
    }
  }
}

/// Why a session ended: the column `end_reason`.
enum EndReason: String {
  case logout
  case logoutAll = "logout_all"
  case deviceRevoked = "device_revoked"
  case reuse
  /// Somebody signed in to the same account on the same device.
  case signedInAgain = "signed_in_again"
  case administrator
  /// Somebody else proved that the e-mail address is theirs.
  case handedOver = "handed_over"
}

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
  /// Branch of the newest refresh token.
  package let branch: Int64
  /// When the newest refresh token was made.
  package let rotatedAt: Timestamp
  /// Expiry of the newest refresh token.
  package let expiresAt: Timestamp

  package var place: TokenPlace { TokenPlace(generation: generation, branch: branch) }

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
  let newest: NewestTokens
  let confirmed: Bool
  let credentials: DeviceCredentials

  /// The columns device_id, generation, confirmed, branch, first_branch, credential_hash, credential_expires_at,
  /// old_credential_hash, old_credential_expires_at, in that order from 0.
  init(row: borrowing Row) {
    deviceID = row.text(0)
    newest = NewestTokens(
      generation: row.integer(1), branch: row.integer(3), firstBranch: row.integer(4))
    confirmed = row.boolean(2)
    credentials = DeviceCredentials(row: row, from: 5)
  }

  /// Rejects an access token of a dead branch.
  ///
  /// - Throws: ``Refusal/deadBranch(session:)``; ``Refusal/sessionEnded`` for a token whose branch may be
  ///   dead.
  func checkBranch(of caller: Caller) throws(Refusal) {
    switch newest.standing(of: caller.place) {
    case .living: return
    case .unknown: throw .sessionEnded
    case .dead: throw .deadBranch(session: caller.sessionID)
    }
  }

  /// Whether ``SessionStatements/admit(_:to:)`` needs statements for the caller.
  func needsStatements(for caller: Caller, at now: Timestamp) -> Bool {
    if caller.username != nil || isFirstUse(by: caller) { return true }
    guard let hash = caller.credentialHash else { return false }
    switch credentials.shown(hash, at: now) {
    case .old: return false
    case .newest: return credentials.old != nil
    case nil: return true
    }
  }

  /// Whether the caller shows a credential of the device.
  func isShown(by caller: Caller, at now: Timestamp) -> Bool {
    caller.credentialHash.map { credentials.shown($0, at: now) != nil } ?? false
  }

  /// Whether the caller is the first to use an access token of the newest branch.
  func isFirstUse(by caller: Caller) -> Bool {
    !confirmed && newest.areConfirmed(by: caller.place)
  }
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

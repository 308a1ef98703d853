import Base
import Cryptography
import MariaDB

/// The result of the use of a passkey whose assertion verified.
enum PasskeyUseOutcome {
  case recorded
  /// Another use has stored as high a sign count meanwhile: the authenticator may be copied.
  case cloned
  /// The passkey was removed meanwhile.
  case gone
}

extension PasskeyStatements {
  /// Records a use of the passkey. Call it after all other checks, in the transaction of the
  /// action. If the use is not recorded, the action must not happen.
  func record(
    _ use: PasskeyUse, of passkey: StoredPasskey
  ) throws(DatabaseError) -> PasskeyUseOutcome {
    let count = Parameter.integer(Int64(use.signCount))
    let recorded = try transaction.connection.execute(
      """
      UPDATE passkeys SET sign_count = ?, is_backed_up = ?, last_used_at = ?, uses = uses + 1
      WHERE id = ? AND (sign_count < ? OR sign_count = 0 AND ? = 0)
      """,
      [
        count, .boolean(use.isBackedUp), .time(transaction.now), .text(passkey.id), count, count,
      ])
    if recorded == 1 { return .recorded }
    // FOR UPDATE reads the row as it is now, not as it was when the transaction first read.
    let isThere = try transaction.connection.row(
      "SELECT TRUE FROM passkeys WHERE id = ? FOR UPDATE", [.text(passkey.id)]
    ) { row in row.boolean(0) }
    return isThere == nil ? .gone : .cloned
  }

  /// Audits a rejected assertion or a rejected new passkey, with the reason: `passkey_cloned` for a
  /// sign count that does not rise, otherwise `passkey_refused`.
  func auditRefusal(
    _ error: WebAuthnError, in purpose: String, account: String, device: String?
  ) throws(DatabaseError) {
    try transaction.audit.write(
      error == .signCount ? .passkeyCloned : .passkeyRefused, account: account, device: device,
      detail: "\(purpose): \(error)")
  }
}

extension RelyingParty {
  /// Returns the changes to `passkey`, which must be the account's.
  ///
  /// - Parameters:
  ///   - passkey: ``PasskeyStatements/find(credentialID:of:)``; nil fails like a wrong signature
  ///     and takes as long.
  ///   - account: the id of the account that is to sign in or pay; nil if there is none.
  ///   - challengeHash: SHA-256 of the challenge, which was issued for this use alone and is spent.
  func verify(
    _ assertion: PasskeyAssertion, by passkey: StoredPasskey?, of account: String?,
    challengeHash: [UInt8]
  ) throws(WebAuthnError) -> PasskeyUse {
    // Each passkey of the account was offered, or is newer than the offer.
    try verifyAuthentication(
      assertion, by: passkey?.passkey, of: account.map(userHandle(ofAccount:)) ?? [],
      offered: [assertion.credentialID], challengeDigest: challengeHash)
  }
}

/// The user handle of an account: the 16 bytes of its id.
package func userHandle(ofAccount id: String) -> [UInt8] {
  hexDecoded(id.replacing("-", with: ""))!  // an account's id is a UUID in lower case
}

package import Base
package import Cryptography
import MariaDB

/// A passkey as its owner sees it.
package struct ListedPasskey: Sendable, Equatable {
  package let id: String
  package let name: String
  package let createdAt: Timestamp
  /// nil before it has signed in or paid.
  package let lastUsedAt: Timestamp?
}

/// What an app sends to register a passkey (`AuthenticatorAttestationResponse`), with its name.
package struct NewPasskey: Sendable {
  package let name: String
  package let clientDataJSON: [UInt8]
  package let attestationObject: [UInt8]
  /// SHA-256 of the challenge that the client data name.
  package let challengeHash: [UInt8]

  package init(
    name: String, clientDataJSON: [UInt8], attestationObject: [UInt8], challengeHash: [UInt8]
  ) {
    self.name = name
    self.clientDataJSON = clientDataJSON
    self.attestationObject = attestationObject
    self.challengeHash = challengeHash
  }
}

/// A challenge that was issued for a passkey, as it is kept.
package struct NewPasskeyChallenge: Sendable {
  /// SHA-256 of the challenge.
  package let hash: [UInt8]
  package let expiresAt: Timestamp

  package init(hash: [UInt8], expiresAt: Timestamp) {
    self.hash = hash
    self.expiresAt = expiresAt
  }
}

package enum PasskeyRegistrationStart: Sendable {
  /// A passkey for this account; authenticators that hold one of `excluded` are to make none.
  case started(Account, excluded: [[UInt8]])
  /// The account has as many passkeys as it may have.
  case full
}

package enum PasskeyRegistrationOutcome: Sendable {
  case registered(ListedPasskey)
  /// The challenge is not live, or the response does not verify.
  case refused
  /// The credential's id is in use, by this account or another.
  case taken
  /// The account has as many passkeys as it may have.
  case full
}

/// A passkey of an account.
struct StoredPasskey {
  static let mostOfAnAccount = 20

  /// Ours, not the authenticator's.
  let id: String
  let accountID: String
  let passkey: Passkey
}

extension Database {
  /// Keeps a challenge for a new passkey of the caller's account, to be answered on the same device.
  ///
  /// - Throws: ``Refusal``; ``Refusal/rateLimited(retryAfter:)`` at more than 20 a minute from one address, sign-ins
  ///   counted.
  package func startPasskeyRegistration(
    _ challenge: NewPasskeyChallenge, by caller: Caller, at now: Timestamp
  ) throws -> PasskeyRegistrationStart {
    try pool.transaction { connection in
      _ = try connection.live(caller, at: now)
      guard let account = try connection.account(id: caller.accountID) else {
        throw Refusal.sessionEnded
      }
      let excluded = try connection.credentialIDs(of: account.id)
      guard excluded.count < StoredPasskey.mostOfAnAccount else { return .full }
      try connection.count(.passkeyStarts, of: caller.origin.address, at: now)
      try connection.insert(
        challenge, for: .registration, of: account.id, clientDeviceID: caller.clientDeviceID)
      return .started(account, excluded: excluded)
    }
  }

  /// Registers the passkey that answers a live challenge of the caller's account and device. The challenge is spent
  /// whatever comes of it.
  ///
  /// - Throws: ``Refusal``; ``Refusal/rateLimited(retryAfter:)`` at more than 60 an hour.
  package func register(
    _ new: NewPasskey, at party: RelyingParty, by caller: Caller, at now: Timestamp
  ) throws -> PasskeyRegistrationOutcome {
    let device = try pool.transaction { connection in
      let session = try connection.live(caller, at: now)
      let challenge = try connection.spend(
        new.challengeHash, for: .registration, onDevice: caller.clientDeviceID, at: now)
      return challenge?.accountID == caller.accountID ? session.deviceID : nil
    }
    guard let device else { return .refused }
    let passkey: Passkey
    do throws(WebAuthnError) {
      passkey = try party.verifyRegistration(
        clientDataJSON: new.clientDataJSON, attestationObject: new.attestationObject,
        challengeDigest: new.challengeHash)
    } catch {
      try pool.write { connection in
        try connection.auditRefusal(
          error, in: "registration", account: caller.accountID, device: device,
          from: caller.origin, at: now)
      }
      return .refused
    }
    do {
      return try pool.transaction { connection in
        // First, for it also locks: passkeys of one account are added one after the other, and each sees those before.
        try connection.count(.passkeyRegistrations, of: caller.accountID, at: now)
        _ = try connection.live(caller, at: now)
        let others = try connection.credentialIDs(of: caller.accountID)
        guard others.count < StoredPasskey.mostOfAnAccount else { return .full }
        let listed = ListedPasskey(
          id: timeOrderedUUID(milliseconds: now.milliseconds), name: new.name, createdAt: now,
          lastUsedAt: nil)
        try connection.insert(passkey, as: listed, of: caller.accountID)
        try connection.audit(
          .passkeyAdded, account: caller.accountID, device: device, detail: listed.id,
          from: caller.origin, at: now)
        return .registered(listed)
      }
    } catch let error as DatabaseError where error.code == .duplicateEntry {
      return .taken
    }
  }

  /// The passkeys of the caller's account, the newest first; at most 20.
  ///
  /// - Throws: ``Refusal``.
  package func passkeys(of caller: Caller, at now: Timestamp) throws -> [ListedPasskey] {
    try pool.read { connection in
      _ = try connection.live(caller, at: now)
      return try connection.listedPasskeys(of: caller.accountID)
    }
  }

  /// Removes a passkey of the caller's account.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false where the account has no such passkey.
  package func removePasskey(_ id: String, by caller: Caller, at now: Timestamp) throws -> Bool {
    try pool.transaction { connection in
      let session = try connection.live(caller, at: now)
      // Compared here: to the database a text that is no UUID is an error.
      guard try connection.listedPasskeys(of: caller.accountID).contains(where: { $0.id == id })
      else { return false }
      let removed = try connection.execute(
        "DELETE FROM passkeys WHERE id = ? AND account_id = ?",
        [.text(id), .text(caller.accountID)])
      guard removed == 1 else { return false }
      try connection.audit(
        .passkeyRemoved, account: caller.accountID, device: session.deviceID, detail: id,
        from: caller.origin, at: now)
      return true
    }
  }
}

extension Connection {
  /// The ids of the account's passkeys, as authenticators know them, the newest first: `allowCredentials`.
  func credentialIDs(of account: String) throws(DatabaseError) -> [[UInt8]] {
    try rows(
      "SELECT credential_id FROM passkeys WHERE account_id = ? ORDER BY created_at DESC, id",
      [.text(account)]
    ) { row in row.bytes(0) }
  }

  /// The account's passkey with `credentialID`; nil where the account has none such, whoever else may.
  func passkey(
    withCredentialID credentialID: [UInt8], of account: String
  ) throws(DatabaseError) -> StoredPasskey? {
    try row(
      """
      SELECT id, account_id, credential_id, public_key, sign_count, is_backup_eligible, is_backed_up
      FROM passkeys WHERE credential_id = ? AND account_id = ?
      """,
      [.bytes(credentialID), .text(account)]
    ) { row in StoredPasskey(row: row) }
  }

  /// Records a use of the passkey, after every other check of its assertion, in the transaction of what it is used for.
  ///
  /// - Returns: why nothing may come of the use: another has brought a sign count as high meanwhile, or the passkey is
  ///   gone. nil where it is recorded.
  func record(
    _ use: PasskeyUse, of passkey: StoredPasskey, at now: Timestamp
  ) throws(DatabaseError) -> WebAuthnError? {
    let count = Parameter.integer(Int64(use.signCount))
    let recorded = try execute(
      """
      UPDATE passkeys SET sign_count = ?, is_backed_up = ?, last_used_at = ?, uses = uses + 1
      WHERE id = ? AND (sign_count < ? OR sign_count = 0 AND ? = 0)
      """,
      [count, .boolean(use.isBackedUp), .time(now), .text(passkey.id), count, count])
    if recorded == 1 { return nil }
    // FOR UPDATE: as it is, and not as it was when the transaction first read.
    let isThere = try row(
      "SELECT TRUE FROM passkeys WHERE id = ? FOR UPDATE", [.text(passkey.id)]
    ) { row in row.boolean(0) }
    return isThere == nil ? .credential : .signCount
  }

  /// Writes down that an assertion or a new passkey was refused: a sign count that does not rise as
  /// `passkey_cloned`, for there may be two of the authenticator; all else as `passkey_refused`, with the reason.
  func auditRefusal(
    _ error: WebAuthnError, in purpose: String, account: String, device: String?,
    from origin: Origin, at now: Timestamp
  ) throws(DatabaseError) {
    try audit(
      error == .signCount ? .passkeyCloned : .passkeyRefused, account: account, device: device,
      detail: "\(purpose): \(error)", from: origin, at: now)
  }

  fileprivate func listedPasskeys(
    of account: String
  ) throws(DatabaseError) -> [ListedPasskey] {
    try rows(
      """
      SELECT id, name, created_at, last_used_at FROM passkeys WHERE account_id = ?
      ORDER BY created_at DESC, id
      """,
      [.text(account)]
    ) { row in
      ListedPasskey(
        id: row.text(0), name: row.text(1),
        createdAt: Timestamp(milliseconds: row.milliseconds(2)),
        lastUsedAt: row.optionalMilliseconds(3).map { Timestamp(milliseconds: $0) })
    }
  }

  fileprivate func insert(
    _ passkey: Passkey, as listed: ListedPasskey, of account: String
  ) throws(DatabaseError) {
    _ = try execute(
      """
      INSERT INTO passkeys (id, account_id, credential_id, public_key, sign_count, is_backup_eligible,
        is_backed_up, name, created_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(listed.id), .text(account), .bytes(passkey.credentialID), .bytes(passkey.publicKey),
        .integer(Int64(passkey.signCount)), .boolean(passkey.isBackupEligible),
        .boolean(passkey.isBackedUp), .text(listed.name), .time(listed.createdAt),
      ])
  }
}

extension RelyingParty {
  /// What `assertion` changes of `passkey`, which must be the account's.
  ///
  /// - Parameters:
  ///   - passkey: ``MariaDB/Connection/passkey(withCredentialID:of:)``; nil is refused like a wrong signature and
  ///     after as long.
  ///   - account: the id of the account that is to sign in or pay; nil where there is none.
  ///   - challengeHash: SHA-256 of the challenge that was issued for this alone, and is spent.
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

extension StoredPasskey {
  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    accountID = row.text(1)
    passkey = Passkey(
      credentialID: row.bytes(2), publicKey: row.bytes(3),
      signCount: UInt32(row.integer(4)),  // the column is as wide
      isBackupEligible: row.boolean(5), isBackedUp: row.boolean(6))
  }
}

package import Base
import Cryptography
import MariaDB

/// A passkey as its owner sees it.
package struct ListedPasskey: Sendable, Equatable {
  package let id: String
  package let name: String
  package let createdAt: Timestamp
  /// nil if it was never used to sign in or to pay.
  package let lastUsedAt: Timestamp?
}

/// A passkey of an account.
struct StoredPasskey {
  static let mostOfAnAccount = 20

  /// Ours, not the authenticator's.
  let id: String
  let accountID: String
  let passkey: Passkey
}

extension StoredPasskey {
  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    accountID = row.text(1)
    passkey = Passkey(
      credentialID: row.bytes(2), publicKey: row.bytes(3),
      signCount: UInt32(row.integer(4)),  // the column is an INT UNSIGNED
      isBackupEligible: row.boolean(5), isBackedUp: row.boolean(6))
  }
}

/// Passkeys as requests use them.
package struct Passkeys: Sendable {
  let records: Records

  /// The passkeys of the caller's account, the newest first; at most 20.
  ///
  /// - Throws: ``Refusal``.
  package func list(for caller: Caller) throws -> [ListedPasskey] {
    try records.read { transaction in
      _ = try transaction.sessions.live(caller)
      return try transaction.passkeys.list(of: caller.accountID)
    }
  }

  /// Removes a passkey of the caller's account, and tells the owner.
  ///
  /// - Throws: ``Refusal``, also if the caller shows no fresh proof.
  /// - Returns: the ids of the remaining passkeys, as authenticators know them; nil if the account
  ///   has no such passkey.
  package func remove(_ id: String, by caller: Caller) throws -> [[UInt8]]? {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let session = try transaction.sessions.live(caller)
      try transaction.sessions.requireFreshProof(caller)
      // Compared here: to the database, text that is not a UUID is an error.
      let listed = try transaction.passkeys.list(of: caller.accountID)
      guard listed.contains(where: { $0.id == id }) else { return nil }
      let isRemoved = try transaction.passkeys.remove(
        id, of: caller.accountID, by: session.deviceID)
      guard isRemoved else { return nil }
      try transaction.notices.tell(.keyRemoved, of: caller.sessionID)
      try transaction.visits.endAll(of: caller.accountID)
      return try transaction.passkeys.credentialIDs(of: caller.accountID)
    }
  }

  /// Gives a passkey of the caller's account another name.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false if the account has no such passkey.
  package func rename(_ id: String, to name: String, by caller: Caller) throws -> Bool {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let session = try transaction.sessions.live(caller)
      let listed = try transaction.passkeys.list(of: caller.accountID)
      guard listed.contains(where: { $0.id == id }) else { return false }
      _ = try transaction.connection.execute(
        "UPDATE passkeys SET name = ? WHERE id = ? AND account_id = ?",
        [.text(name), .text(id), .text(caller.accountID)])
      try transaction.audit.write(
        .passkeyRenamed, account: caller.accountID, device: session.deviceID, detail: id)
      return true
    }
  }
}

extension Records {
  package var passkeys: Passkeys { Passkeys(records: self) }
}

/// Statements on `passkeys`.
struct PasskeyStatements: ~Copyable {
  let transaction: Transaction

  /// The ids of the account's passkeys, as authenticators know them, the newest first.
  func credentialIDs(of account: String) throws(DatabaseError) -> [[UInt8]] {
    try transaction.connection.rows(
      "SELECT credential_id FROM passkeys WHERE account_id = ? ORDER BY created_at DESC, id",
      [.text(account)]
    ) { row in row.bytes(0) }
  }

  /// The passkey with `credentialID`; nil if the account has none, even if another account does.
  func find(
    credentialID: [UInt8], of account: String
  ) throws(DatabaseError) -> StoredPasskey? {
    try transaction.connection.row(
      """
      SELECT id, account_id, credential_id, public_key, sign_count, is_backup_eligible, is_backed_up
      FROM passkeys WHERE credential_id = ? AND account_id = ?
      """,
      [.bytes(credentialID), .text(account)]
    ) { row in StoredPasskey(row: row) }
  }

  /// The passkey with `credentialID` of an account whose e-mail address is proven; otherwise it may
  /// be a stranger's. nil if the account has no such passkey.
  func find(
    credentialID: [UInt8], ofProven account: String
  ) throws(DatabaseError) -> StoredPasskey? {
    let passkey = try findOfProven(credentialID: credentialID)
    return passkey?.accountID == account ? passkey : nil
  }

  /// The passkey with `credentialID` of any account whose e-mail address is proven: passkeys of
  /// other accounts may be a stranger's.
  func findOfProven(credentialID: [UInt8]) throws(DatabaseError) -> StoredPasskey? {
    try transaction.connection.row(
      """
      SELECT p.id, p.account_id, p.credential_id, p.public_key, p.sign_count, p.is_backup_eligible,
        p.is_backed_up
      FROM passkeys p JOIN accounts a ON a.id = p.account_id
      WHERE p.credential_id = ? AND a.email_verified_at IS NOT NULL
      """,
      [.bytes(credentialID)]
    ) { row in StoredPasskey(row: row) }
  }

  /// Whether any account has the passkey.
  func exists(credentialID: [UInt8]) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      "SELECT EXISTS (SELECT 1 FROM passkeys WHERE credential_id = ?)", [.bytes(credentialID)]
    ) { row in row.boolean(0) } ?? false
  }

  /// - Parameter device: the id of the device that asks for the removal, if a device does.
  /// - Returns: false if the account has no such passkey.
  func remove(
    _ id: String, of account: String, by device: String? = nil
  ) throws(DatabaseError) -> Bool {
    let removed = try transaction.connection.execute(
      "DELETE FROM passkeys WHERE id = ? AND account_id = ?", [.text(id), .text(account)])
    guard removed == 1 else { return false }
    try transaction.audit.write(.passkeyRemoved, account: account, device: device, detail: id)
    return true
  }

  fileprivate func list(of account: String) throws(DatabaseError) -> [ListedPasskey] {
    try transaction.connection.rows(
      """
      SELECT id, name, created_at, last_used_at FROM passkeys WHERE account_id = ?
      ORDER BY created_at DESC, id
      """,
      [.text(account)]
    ) { row in
      ListedPasskey(
        id: row.text(0), name: row.text(1), createdAt: row.timestamp(2),
        lastUsedAt: row.optionalTimestamp(3))
    }
  }
}

extension Transaction {
  var passkeys: PasskeyStatements { PasskeyStatements(transaction: Transaction(sharing: self)) }
}

package import Base
import MariaDB

/// Something with which people use an account.
package struct AccountAccess: Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    case device
    case biometricKey = "key"
    case passkey
  }

  package let kind: Kind
  /// The name of the device, or of the passkey.
  package let name: String
  /// When it was added.
  package let since: Timestamp
}

/// Statements on everything with which people use an account.
struct AccountAccessStatements: ~Copyable {
  let transaction: Transaction

  /// The devices, biometric keys and passkeys of the account that were added at `instant` or before, the oldest
  /// first.
  func list(
    of account: String, until instant: Timestamp
  ) throws(DatabaseError) -> [AccountAccess] {
    let parameters = [Parameter.text(account), .time(instant)]
    let devices = try transaction.connection.rows(
      """
      SELECT name, created_at FROM devices
      WHERE account_id = ? AND revoked_at IS NULL AND created_at <= ?
      """, parameters
    ) { row in AccountAccess(kind: .device, name: row.text(0), since: row.timestamp(1)) }
    let keys = try transaction.connection.rows(
      """
      SELECT d.name, k.enrolled_at FROM devices d JOIN biometric_keys k ON k.device_id = d.id
      WHERE d.account_id = ? AND k.enrolled_at <= ?
      """, parameters
    ) { row in AccountAccess(kind: .biometricKey, name: row.text(0), since: row.timestamp(1)) }
    let passkeys = try transaction.connection.rows(
      "SELECT name, created_at FROM passkeys WHERE account_id = ? AND created_at <= ?", parameters
    ) { row in AccountAccess(kind: .passkey, name: row.text(0), since: row.timestamp(1)) }
    return (devices + keys + passkeys).sorted { $0.since < $1.since }
  }

  /// Removes what a locked account had at `instant`, before which no code and no passkey had signed in: the
  /// passkeys, the keys, and the devices with their sessions. A device that has signed in since is signed out
  /// once: whoever has read the mail must not keep the owner out for ever.
  ///
  /// - Returns: false if nothing of it is left.
  func removeAll(of account: String, until instant: Timestamp) throws(DatabaseError) -> Bool {
    let passkeys = try transaction.connection.rows(
      "SELECT id FROM passkeys WHERE account_id = ? AND created_at <= ? FOR UPDATE",
      [.text(account), .time(instant)]
    ) { row in row.text(0) }
    var isAnythingRemoved = !passkeys.isEmpty
    for passkey in passkeys { _ = try transaction.passkeys.remove(passkey, of: account) }
    for device in try devices(of: account, since: instant) {
      try transaction.devices.revoke(device, because: .deviceRevoked)
      try noteRevocation(of: device, until: instant)
      try transaction.audit.write(
        .deviceRevoked, account: account, device: device, detail: "by the link in a mail")
      isAnythingRemoved = true
    }
    let keys = try transaction.connection.execute(
      """
      DELETE k FROM biometric_keys k JOIN devices d ON d.id = k.device_id
      WHERE d.account_id = ? AND k.enrolled_at <= ?
      """,
      [.text(account), .time(instant)])
    if keys > 0 {
      try transaction.audit.write(
        .biometricDisabled, account: account, detail: "by the link in a mail")
      isAnythingRemoved = true
    }
    guard isAnythingRemoved else { return false }
    try transaction.visits.endAll(of: account)
    try transaction.addressChanges.withdraw(of: account)
    return true
  }

  /// The devices with a sign-in from before the proof that this link has not ended yet.
  private func devices(
    of account: String, since instant: Timestamp
  ) throws(DatabaseError) -> [String] {
    let found = try transaction.connection.rows(
      """
      SELECT d.id FROM devices d JOIN sessions s ON s.device_id = d.id
      WHERE d.account_id = ? AND d.revoked_at IS NULL AND s.created_at <= ? AND s.began_by <> 'code'
        AND NOT s.end_reason <=> 'device_revoked'
      ORDER BY d.id FOR UPDATE
      """,
      [.text(account), .time(instant)]
    ) { row in row.text(0) }
    return Set(found).sorted()
  }

  /// Marks the sessions of a device that the link has revoked, also those that had ended before.
  private func noteRevocation(
    of device: String, until instant: Timestamp
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE sessions SET ended_at = COALESCE(ended_at, ?), end_reason = 'device_revoked'
      WHERE device_id = ? AND created_at <= ?
      """,
      [.time(transaction.now), .text(device), .time(instant)])
  }
}

extension Transaction {
  var access: AccountAccessStatements {
    AccountAccessStatements(transaction: Transaction(sharing: self))
  }
}

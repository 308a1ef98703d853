package import Base
import MariaDB

/// A challenge that was issued for a passkey, as it is stored.
package struct NewPasskeyChallenge: Sendable {
  package static let lifetime = Duration.seconds(300)

  /// SHA-256 of the challenge.
  package let hash: [UInt8]
  package let expiresAt: Timestamp

  package init(hash: [UInt8], expiresAt: Timestamp) {
    self.hash = hash
    self.expiresAt = expiresAt
  }
}

/// The purpose of a challenge, which cannot be used for another.
enum PasskeyPurpose: String {
  case registration, authentication
}

struct SpentPasskeyChallenge {
  let accountID: String
  /// The name in the request for the challenge.
  let deviceName: String?
  let platform: DevicePlatform?

  fileprivate init(row: borrowing Row) {
    accountID = row.text(0)
    deviceName = row.optionalText(1)
    platform = row.optionalText(2).flatMap { DevicePlatform(rawValue: $0) }
  }
}

/// Statements on `passkey_challenges`.
struct PasskeyChallengeStatements: ~Copyable {
  let transaction: Transaction

  func insert(
    _ challenge: NewPasskeyChallenge, for purpose: PasskeyPurpose, of account: String,
    clientDeviceID: String, name: String? = nil, platform: DevicePlatform? = nil
  ) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      INSERT INTO passkey_challenges (challenge_hash, purpose, account_id, client_device_id,
        device_name, platform, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .bytes(challenge.hash), .text(purpose.rawValue), .text(account), .text(clientDeviceID),
        .text(name), .text(platform?.rawValue), .time(challenge.expiresAt),
      ])
  }

  /// Spends a challenge that is live and was issued for `purpose` and the device.
  ///
  /// - Returns: nil if there is no such challenge: another call may have spent it.
  func spend(
    _ hash: [UInt8], for purpose: PasskeyPurpose, on clientDeviceID: String
  ) throws(DatabaseError) -> SpentPasskeyChallenge? {
    let now = Parameter.time(transaction.now)
    let spent = try transaction.connection.execute(
      """
      UPDATE passkey_challenges SET spent_at = ?
      WHERE challenge_hash = ? AND purpose = ? AND client_device_id = ? AND spent_at IS NULL
        AND expires_at > ?
      """,
      [now, .bytes(hash), .text(purpose.rawValue), .text(clientDeviceID), now])
    guard spent == 1 else { return nil }
    return try transaction.connection.row(
      "SELECT account_id, device_name, platform FROM passkey_challenges WHERE challenge_hash = ?",
      [.bytes(hash)]
    ) { row in SpentPasskeyChallenge(row: row) }
  }

  /// The id of the account that a challenge, live or dead, was issued for.
  func account(of hash: [UInt8]) throws(DatabaseError) -> String? {
    try transaction.connection.row(
      "SELECT account_id FROM passkey_challenges WHERE challenge_hash = ?", [.bytes(hash)]
    ) { row in row.text(0) }
  }
}

extension Transaction {
  var passkeyChallenges: PasskeyChallengeStatements {
    PasskeyChallengeStatements(transaction: Transaction(sharing: self))
  }
}

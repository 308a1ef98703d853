import Base
import Cryptography
import MariaDB

/// The purpose of a phone's challenge, which cannot be used for another.
enum PhoneChallengePurpose: String {
  case biometric, passkey
}

/// Statements on `phone_challenges`: challenges that name a phone and no account.
struct PhoneChallengeStatements: ~Copyable {
  let transaction: Transaction

  /// Stores a challenge. The newest ten of each asker for one phone and purpose stay: other askers
  /// do not displace them.
  ///
  /// - Parameter asker: ``asker(_:)``
  func insert(
    _ hash: [UInt8], for purpose: PhoneChallengePurpose, on device: SigningDevice,
    askedBy asker: String, until expiresAt: Timestamp
  ) throws(DatabaseError) {
    let phone = Parameter.text(device.clientDeviceID)
    let old = try transaction.connection.rows(
      """
      SELECT challenge_hash FROM phone_challenges
      WHERE client_device_id = ? AND asked_by = ? AND purpose = ?
      ORDER BY expires_at DESC, challenge_hash LIMIT 100 OFFSET 9
      """,
      [phone, .text(asker), .text(purpose.rawValue)]
    ) { row in row.bytes(0) }
    // One by one, by primary key: a range of the index would lock the gaps next to it.
    for hash in old {
      _ = try transaction.connection.execute(
        "DELETE FROM phone_challenges WHERE challenge_hash = ?", [.bytes(hash)])
    }
    _ = try transaction.connection.execute(
      """
      INSERT INTO phone_challenges (challenge_hash, purpose, client_device_id, asked_by,
        device_name, platform, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .bytes(hash), .text(purpose.rawValue), phone, .text(asker), .text(device.name),
        .text(device.platform?.rawValue), .time(expiresAt),
      ])
  }

  /// Spends a challenge that is live and was issued for `purpose` and the phone.
  ///
  /// - Returns: whether this call is the one that spends it.
  func spend(
    _ hash: [UInt8], for purpose: PhoneChallengePurpose, on clientDeviceID: String
  ) throws(DatabaseError) -> Bool {
    let now = Parameter.time(transaction.now)
    return try transaction.connection.execute(
      """
      UPDATE phone_challenges SET spent_at = ?
      WHERE challenge_hash = ? AND purpose = ? AND client_device_id = ? AND spent_at IS NULL
        AND expires_at > ?
      """,
      [now, .bytes(hash), .text(purpose.rawValue), .text(clientDeviceID), now]) == 1
  }

  /// The description of the device in the request for a challenge.
  func description(
    of hash: [UInt8]
  ) throws(DatabaseError) -> (name: String?, platform: DevicePlatform?)? {
    try transaction.connection.row(
      "SELECT device_name, platform FROM phone_challenges WHERE challenge_hash = ?", [.bytes(hash)]
    ) { row in
      (row.optionalText(0), row.optionalText(1).flatMap { DevicePlatform(rawValue: $0) })
    }
  }
}

extension Transaction {
  var phoneChallenges: PhoneChallengeStatements {
    PhoneChallengeStatements(transaction: Transaction(sharing: self))
  }

  /// The name that tells callers apart for codes, challenges and locks of keys: a device that shows
  /// its credential, or else the caller's network, with the device of the account that the request
  /// names, if any.
  func asker(_ known: KnownDevice) -> String {
    let network = origin.networks[0].subject
    return switch known {
    case .stranger: network
    case .named(let id): "\(id) \(network)"
    case .proven: known.subject!
    }
  }
}

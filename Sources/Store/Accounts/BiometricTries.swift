import Base
import MariaDB

/// Statements on the tries to sign with a biometric key, which `rate_limits` counts.
extension BiometricStatements {
  /// How long the device stays locked after five wrong signatures; nil if it is not locked.
  func lock(on clientDeviceID: String) throws(DatabaseError) -> Duration? {
    let limit = Limit.biometricFailures
    let now = transaction.now
    let startedAt = try transaction.connection.row(
      """
      SELECT window_started_at FROM rate_limits
      WHERE name = ? AND subject = ? AND hits >= ? AND window_started_at > ?
      """,
      [
        .text(limit.name), .text(clientDeviceID), .integer(limit.allowed),
        .time(now - limit.window),
      ]
    ) { row in row.timestamp(0) }
    return startedAt.map { $0 + limit.window - now }
  }

  /// Counts a signature before it is verified. The fifth within 15 minutes locks the device from
  /// then on. Call ``forgetTries(on:)`` after a right one.
  ///
  /// - Throws: ``RateLimited`` if other tries have locked the device meanwhile.
  /// - Returns: the number of the try, 1 to 5.
  func countTry(on clientDeviceID: String) throws -> Int64 {
    let limit = Limit.biometricFailures
    let tries = try transaction.limits.count(limit, of: clientDeviceID)
    if tries == limit.allowed {
      _ = try transaction.connection.execute(
        "UPDATE rate_limits SET window_started_at = ? WHERE name = ? AND subject = ?",
        [.time(transaction.now), .text(limit.name), .text(clientDeviceID)])
    }
    return tries
  }

  func forgetTries(on clientDeviceID: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE rate_limits SET hits = 0 WHERE name = ? AND subject = ?",
      [.text(Limit.biometricFailures.name), .text(clientDeviceID)])
  }

  /// Writes a row for the account of each key: nobody knows which of them tried to sign.
  func auditWrongSignature(
    of keys: [StoredBiometricKey], try number: Int64
  ) throws(DatabaseError) {
    for key in keys {
      try transaction.audit.write(
        number < Limit.biometricFailures.allowed ? .biometricRefused : .biometricLocked,
        account: key.accountID, device: key.deviceID, detail: "try \(number)")
    }
  }
}

import Base
import MariaDB

/// A signature that is counted against a key before it is verified.
struct BiometricAttempt {
  let key: StoredBiometricKey
  /// 1 to 5
  let number: Int64
  /// The subject in `rate_limits`: key and signer. Wrong signatures of others do not lock the key.
  fileprivate let subject: String
}

/// Statements on the tries to sign with a biometric key, which `rate_limits` counts.
extension BiometricStatements {
  /// The refusal while all of `keys` are locked after five wrong signatures each; nil if one of them is
  /// not locked.
  func lock(
    of keys: [StoredBiometricKey], for known: KnownDevice
  ) throws(DatabaseError) -> RateLimited? {
    var locks: [RateLimited] = []
    for key in keys {
      guard let lock = try lock(of: subject(of: key, for: known)) else { return nil }
      locks.append(lock)
    }
    guard let rest = locks.map(\.retryAfter).min() else { return nil }
    return RateLimited(retryAfter: rest, future: locks.flatMap(\.future))
  }

  private func lock(of subject: String) throws(DatabaseError) -> RateLimited? {
    let limit = Limit.biometricFailures
    let now = transaction.now
    let startedAt = try transaction.connection.row(
      """
      SELECT window_started_at FROM rate_limits
      WHERE name = ? AND subject = ? AND hits >= ? AND window_started_at > ?
      """,
      [.text(limit.name), .text(subject), .integer(limit.allowed), .time(now - limit.window)]
    ) { row in row.timestamp(0) }
    return startedAt.map { limit.exceeded(by: subject, since: $0, at: now) }
  }

  private func subject(of key: StoredBiometricKey, for known: KnownDevice) -> String {
    "\(key.id) \(transaction.asker(known))"
  }

  /// Counts a signature before it is verified, against each key that is not locked. The fifth within
  /// 15 minutes locks a key from then on. Call ``forgetTries(_:)`` after a right one.
  ///
  /// - Throws: ``RateLimited`` if other tries have locked a key meanwhile.
  func countTries(
    with keys: [StoredBiometricKey], by known: KnownDevice
  ) throws -> [BiometricAttempt] {
    let limit = Limit.biometricFailures
    var tries: [BiometricAttempt] = []
    for key in keys {
      let subject = subject(of: key, for: known)
      if keys.count > 1, try lock(of: subject) != nil { continue }
      let number = try transaction.limits.count(limit, of: subject)
      if number == limit.allowed {
        _ = try transaction.connection.execute(
          "UPDATE rate_limits SET window_started_at = ? WHERE name = ? AND subject = ?",
          [.time(transaction.now), .text(limit.name), .text(subject)])
      }
      tries.append(BiometricAttempt(key: key, number: number, subject: subject))
    }
    return tries
  }

  /// Resets the count after a right signature with this key.
  func forgetTries(_ right: BiometricAttempt) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE rate_limits SET hits = 0 WHERE name = ? AND subject = ?",
      [.text(Limit.biometricFailures.name), .text(right.subject)])
  }

  /// Takes back a try that was right with another key.
  func giveBack(_ other: BiometricAttempt) throws(DatabaseError) {
    try transaction.limits.giveBack(.biometricFailures, of: other.subject)
  }

  /// Writes a row for the account of each key: it is unknown which account tried to sign.
  func auditWrongSignature(of tries: [BiometricAttempt]) throws(DatabaseError) {
    for wrong in tries {
      try transaction.audit.write(
        wrong.number < Limit.biometricFailures.allowed ? .biometricRefused : .biometricLocked,
        account: wrong.key.accountID, device: wrong.key.deviceID, detail: "try \(wrong.number)")
    }
  }
}

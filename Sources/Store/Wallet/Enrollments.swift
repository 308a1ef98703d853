package import Base
import MariaDB

/// An account's enrollment at a bank.
package struct Enrollment: Sendable {
  package let id: String
  package let bank: ListedBank
  /// The number of active cards.
  package let cardCount: Int64
  package let enrolledAt: Timestamp
}

/// Enrollments of accounts at banks.
package struct Enrollments: Sendable {
  let records: Records

  /// The enrollments of the caller's account, the oldest first.
  ///
  /// - Throws: ``Refusal``.
  package func list(of caller: Caller) throws -> [Enrollment] {
    try records.read { transaction in
      _ = try transaction.sessions.live(caller)
      return try transaction.connection.rows(
        """
        SELECT b.bsim_id, b.name, b.logo_url, e.id, e.enrolled_at,
          (SELECT COUNT(*) FROM cards c WHERE c.enrollment_id = e.id AND c.active)
        FROM enrollments e JOIN banks b ON b.bsim_id = e.bsim_id
        WHERE e.account_id = ? AND e.removed_at IS NULL
        ORDER BY e.enrolled_at, b.bsim_id
        """,
        [.text(caller.accountID)]
      ) { row in
        Enrollment(
          id: row.text(3), bank: ListedBank(row: row), cardCount: row.integer(5),
          enrolledAt: row.timestamp(4))
      }
    }
  }

  /// Removes an enrollment of the caller's account and its cards, until the account enrolls at the
  /// bank again.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false if the account has no such enrollment.
  package func remove(_ id: String, by caller: Caller) throws -> Bool {
    try records.transaction { transaction in
      try transaction.cards.lock(of: caller.accountID)
      let session = try transaction.sessions.live(caller)
      return try transaction.cards.removeEnrollment(
        id, of: caller.accountID, by: session.deviceID)
    }
  }
}

extension CardStatements {
  /// Removes an enrollment and its cards. The account's cards are locked.
  ///
  /// - Parameter device: the id of the device that asks for the removal, if a device does.
  /// - Returns: false if the account has no such enrollment.
  func removeEnrollment(
    _ id: String, of account: String, by device: String?
  ) throws(DatabaseError) -> Bool {
    let removed = try transaction.connection.execute(
      "UPDATE enrollments SET removed_at = ? WHERE id = ? AND account_id = ? AND removed_at IS NULL",
      [.time(transaction.now), .text(id), .text(account)])
    guard removed == 1 else { return false }
    _ = try transaction.connection.execute(
      "UPDATE cards SET active = FALSE, is_default = FALSE WHERE enrollment_id = ?", [.text(id)])
    try chooseDefault(of: account)
    try transaction.audit.write(
      .enrollmentRemoved, account: account, device: device, detail: id)
    return true
  }
}

extension Records {
  package var enrollments: Enrollments { Enrollments(records: self) }
}

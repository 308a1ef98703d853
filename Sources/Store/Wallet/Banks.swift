package import Base
import MariaDB

/// What `GET /api/mobile/wallet/summary` shows.
package struct WalletSummary: Sendable {
  package let account: Account
  /// Active ones; the default first, then the newest.
  package let cards: [Card]
  package let banks: [EnrolledBank]
  /// Of the caller's device.
  package let biometricEnabled: Bool
}

package struct EnrolledBank: Sendable {
  package let bsimID: String
  package let name: String
  /// Of active cards.
  package let cardCount: Int64
}

/// A bank as the apps list it.
package struct ListedBank: Sendable {
  package let bsimID: String
  package let name: String
  /// URL
  package let logoURL: String?
}

/// An account's enrolment at a bank.
package struct Enrollment: Sendable {
  package let id: String
  package let bank: ListedBank
  /// Of active cards.
  package let cardCount: Int64
  package let enrolledAt: Timestamp
}

extension Database {
  /// The banks that take enrolments.
  ///
  /// - Throws: ``Refusal``.
  package func banks(for caller: Caller, at now: Timestamp) throws -> [ListedBank] {
    try pool.read { connection in
      _ = try connection.live(caller, at: now)
      return try connection.rows(
        """
        SELECT bsim_id, name, logo_url FROM banks WHERE authorization_url IS NOT NULL
        ORDER BY name, bsim_id
        """
      ) { row in ListedBank(row: row, from: 0) }
    }
  }

  /// The enrolments of the caller's account, the oldest first.
  ///
  /// - Throws: ``Refusal``.
  package func enrollments(of caller: Caller, at now: Timestamp) throws -> [Enrollment] {
    try pool.read { connection in
      _ = try connection.live(caller, at: now)
      return try connection.rows(
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
          id: row.text(3), bank: ListedBank(row: row, from: 0), cardCount: row.integer(5),
          enrolledAt: Timestamp(milliseconds: row.milliseconds(4)))
      }
    }
  }

  /// Removes an enrolment of the caller's account, and with it its cards, until the bank is enrolled
  /// again.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false where the account has no such enrolment.
  package func remove(enrollment id: String, by caller: Caller, at now: Timestamp) throws -> Bool {
    try pool.transaction { connection in
      try connection.holdCards(of: caller.accountID)
      let session = try connection.live(caller, at: now)
      let removed = try connection.execute(
        "UPDATE enrollments SET removed_at = ? WHERE id = ? AND account_id = ? AND removed_at IS NULL",
        [.time(now), .text(id), .text(caller.accountID)])
      guard removed == 1 else { return false }
      _ = try connection.execute(
        "UPDATE cards SET active = FALSE, is_default = FALSE WHERE enrollment_id = ?", [.text(id)])
      try connection.chooseDefault(of: caller.accountID)
      try connection.audit(
        .enrollmentRemoved, account: caller.accountID, device: session.deviceID, detail: id,
        from: caller.origin, at: now)
      return true
    }
  }
}

extension ListedBank {
  /// The columns bsim_id, name, logo_url from `column` on.
  init(row: borrowing Row, from column: Int) {
    bsimID = row.text(column)
    name = row.text(column + 1)
    logoURL = row.optionalText(column + 2)
  }
}

extension Connection {
  func enrolledBanks(of account: String) throws(DatabaseError) -> [EnrolledBank] {
    try rows(
      """
      SELECT b.bsim_id, b.name, COUNT(c.id)
      FROM enrollments e
      JOIN banks b ON b.bsim_id = e.bsim_id
      LEFT JOIN cards c ON c.enrollment_id = e.id AND c.active
      WHERE e.account_id = ? AND e.removed_at IS NULL
      GROUP BY b.bsim_id, b.name, e.enrolled_at
      ORDER BY e.enrolled_at, b.bsim_id
      """,
      [.text(account)]
    ) { row in EnrolledBank(bsimID: row.text(0), name: row.text(1), cardCount: row.integer(2)) }
  }
}

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

package struct Card: Sendable {
  package let id: String
  package let lastFour: String
  /// VISA, MASTERCARD, AMEX, DISCOVER, DEBIT
  package let cardType: String
  package let bankName: String
  /// URL
  package let bankLogo: String?
  package let isDefault: Bool
  package let addedAt: Timestamp
}

package struct EnrolledBank: Sendable {
  package let bsimID: String
  package let name: String
  /// Of active cards.
  package let cardCount: Int64
}

extension Connection {
  mutating func cards(of account: String) throws(DatabaseError) -> [Card] {
    try rows(
      """
      SELECT c.id, c.last_four, c.card_type, b.name, b.logo_url, c.is_default, c.added_at
      FROM enrollments e
      JOIN cards c ON c.enrollment_id = e.id
      JOIN banks b ON b.bsim_id = e.bsim_id
      WHERE e.account_id = ? AND c.active
      ORDER BY c.is_default DESC, c.added_at DESC, c.id
      """,
      [.text(account)]
    ) { row in
      Card(
        id: row.text(0), lastFour: row.text(1), cardType: row.text(2), bankName: row.text(3),
        bankLogo: row.optionalText(4), isDefault: row.boolean(5),
        addedAt: Timestamp(milliseconds: row.milliseconds(6)))
    }
  }

  mutating func enrolledBanks(of account: String) throws(DatabaseError) -> [EnrolledBank] {
    try rows(
      """
      SELECT b.bsim_id, b.name, COUNT(c.id)
      FROM enrollments e
      JOIN banks b ON b.bsim_id = e.bsim_id
      LEFT JOIN cards c ON c.enrollment_id = e.id AND c.active
      WHERE e.account_id = ?
      GROUP BY b.bsim_id, b.name, e.enrolled_at
      ORDER BY e.enrolled_at, b.bsim_id
      """,
      [.text(account)]
    ) { row in EnrolledBank(bsimID: row.text(0), name: row.text(1), cardCount: row.integer(2)) }
  }
}

package import Base
import MariaDB

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

extension Database {
  /// The active cards of the caller's account, as the summary shows them.
  ///
  /// - Throws: ``Refusal``.
  package func cards(of caller: Caller, at now: Timestamp) throws -> [Card] {
    try pool.read { connection in
      _ = try connection.live(caller, at: now)
      return try connection.cards(of: caller.accountID)
    }
  }

  /// Makes an active card of the caller's account its default.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false where the account has no such card.
  package func makeDefault(card id: String, by caller: Caller, at now: Timestamp) throws -> Bool {
    try pool.transaction { connection in
      try connection.holdCards(of: caller.accountID)
      let session = try connection.live(caller, at: now)
      guard try connection.isActive(card: id, of: caller.accountID) else { return false }
      let changed = try connection.execute(
        """
        UPDATE enrollments e JOIN cards c ON c.enrollment_id = e.id
        SET c.is_default = (c.id = ?) WHERE e.account_id = ? AND c.active
        """,
        [.text(id), .text(caller.accountID)])
      guard changed > 0 else { return true }
      try connection.audit(
        .cardDefault, account: caller.accountID, device: session.deviceID, detail: id,
        from: caller.origin, at: now)
      return true
    }
  }

  /// Removes a card of the caller's account from the wallet, until its bank is enrolled again. If it
  /// was the default, the newest of the others is.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false where the account has no such card.
  package func remove(card id: String, by caller: Caller, at now: Timestamp) throws -> Bool {
    try pool.transaction { connection in
      try connection.holdCards(of: caller.accountID)
      let session = try connection.live(caller, at: now)
      guard try connection.isActive(card: id, of: caller.accountID) else { return false }
      _ = try connection.execute(
        "UPDATE cards SET active = FALSE, is_default = FALSE WHERE id = ?", [.text(id)])
      try connection.chooseDefault(of: caller.accountID)
      try connection.audit(
        .cardRemoved, account: caller.accountID, device: session.deviceID, detail: id,
        from: caller.origin, at: now)
      return true
    }
  }
}

extension Connection {
  /// First in a transaction that changes cards: others that do so wait for its end, and on another
  /// node of a cluster lose to it, so that an account never gets two defaults.
  func holdCards(of account: String) throws(DatabaseError) {
    _ = try execute(
      "UPDATE accounts SET cards_version = cards_version + 1 WHERE id = ?", [.text(account)])
  }

  /// Sees to it that one of the active cards is the default: the one that is, else the newest.
  func chooseDefault(of account: String) throws(DatabaseError) {
    guard let card = try cards(of: account).first, !card.isDefault else { return }
    _ = try execute("UPDATE cards SET is_default = TRUE WHERE id = ?", [.text(card.id)])
  }

  /// The active cards of an account; the default first, then the newest.
  func cards(of account: String) throws(DatabaseError) -> [Card] {
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

  /// Asked before anything is written: where `id` is no UUID, a write that looks for it may be an error.
  fileprivate func isActive(card id: String, of account: String) throws(DatabaseError)
    -> Bool
  {
    try row(
      """
      SELECT TRUE FROM cards c JOIN enrollments e ON e.id = c.enrollment_id
      WHERE c.id = ? AND e.account_id = ? AND c.active
      """,
      [.text(id), .text(account)]
    ) { row in row.boolean(0) } ?? false
  }
}

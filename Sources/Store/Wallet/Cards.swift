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
  /// The last month in which the card is valid; nil if the bank did not say.
  package let expiry: CardExpiry?

  /// Whether its last month is over, in UTC.
  func hasExpired(at now: Timestamp) -> Bool {
    guard let expiry else { return false }
    let today = now.rfc3339.split(separator: "-").prefix(2).compactMap { Int64($0) }
    return (today[0], today[1]) > (expiry.year, expiry.month)
  }
}

package struct CardExpiry: Sendable {
  package let month: Int64
  package let year: Int64
}

/// Cards as their owners manage them.
package struct Cards: Sendable {
  let records: Records

  /// The active cards of the caller's account; the default first, then the newest.
  ///
  /// - Throws: ``Refusal``.
  package func list(of caller: Caller) throws -> [Card] {
    try records.read { transaction in
      _ = try transaction.sessions.live(caller)
      return try transaction.cards.list(of: caller.accountID)
    }
  }

  /// Makes an active card of the caller's account its default.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false if the account has no such card.
  package func makeDefault(_ id: String, by caller: Caller) throws -> Bool {
    try records.transaction { transaction in
      try transaction.cards.lock(of: caller.accountID)
      let session = try transaction.sessions.live(caller)
      guard try transaction.cards.isActive(id, of: caller.accountID) else { return false }
      let changed = try transaction.connection.execute(
        """
        UPDATE enrollments e JOIN cards c ON c.enrollment_id = e.id
        SET c.is_default = (c.id = ?) WHERE e.account_id = ? AND c.active
        """,
        [.text(id), .text(caller.accountID)])
      guard changed > 0 else { return true }
      try transaction.audit.write(
        .cardDefault, account: caller.accountID, device: session.deviceID, detail: id)
      return true
    }
  }

  /// Removes a card of the caller's account from the wallet, until the account enrolls at its bank
  /// again. If it was the default, the newest of the other cards becomes the default.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false if the account has no such card.
  package func remove(_ id: String, by caller: Caller) throws -> Bool {
    try records.transaction { transaction in
      try transaction.cards.lock(of: caller.accountID)
      let session = try transaction.sessions.live(caller)
      guard try transaction.cards.isActive(id, of: caller.accountID) else { return false }
      _ = try transaction.connection.execute(
        "UPDATE cards SET active = FALSE, is_default = FALSE WHERE id = ?", [.text(id)])
      try transaction.cards.chooseDefault(of: caller.accountID)
      try transaction.audit.write(
        .cardRemoved, account: caller.accountID, device: session.deviceID, detail: id)
      return true
    }
  }
}

extension Records {
  package var cards: Cards { Cards(records: self) }
}

/// Statements on `cards`.
struct CardStatements: ~Copyable {
  let transaction: Transaction

  /// Keeps other transactions from changing the account's cards before the transaction's end. Call
  /// it first. On another node of a cluster their transaction fails instead, so no account gets two
  /// defaults.
  func lock(of account: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE accounts SET cards_version = cards_version + 1 WHERE id = ?", [.text(account)])
  }

  /// Makes the newest active card the default, if no card is.
  func chooseDefault(of account: String) throws(DatabaseError) {
    guard let card = try list(of: account).first, !card.isDefault else { return }
    _ = try transaction.connection.execute(
      "UPDATE cards SET is_default = TRUE WHERE id = ?", [.text(card.id)])
  }

  /// The active cards of an account; the default first, then the newest.
  func list(of account: String) throws(DatabaseError) -> [Card] {
    try transaction.connection.rows(
      """
      SELECT c.id, c.last_four, c.card_type, b.name, b.logo_url, c.is_default, c.added_at,
        c.expiry_month, c.expiry_year
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
        bankLogo: row.optionalText(4), isDefault: row.boolean(5), addedAt: row.timestamp(6),
        expiry: row.isNull(7) ? nil : CardExpiry(month: row.integer(7), year: row.integer(8)))
    }
  }

  /// Call it before any write: a write that searches for an `id` that is not a UUID may be an
  /// error.
  fileprivate func isActive(_ id: String, of account: String) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      """
      SELECT TRUE FROM cards c JOIN enrollments e ON e.id = c.enrollment_id
      WHERE c.id = ? AND e.account_id = ? AND c.active
      """,
      [.text(id), .text(account)]
    ) { row in row.boolean(0) } ?? false
  }
}

extension Transaction {
  var cards: CardStatements { CardStatements(transaction: Transaction(sharing: self)) }
}

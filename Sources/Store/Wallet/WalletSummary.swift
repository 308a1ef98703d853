import MariaDB

/// The content of `GET /api/mobile/wallet/summary`.
package struct WalletSummary: Sendable {
  package let account: Account
  /// The active cards; the default first, then the newest.
  package let cards: [Card]
  package let banks: [EnrolledBank]
  /// Whether the caller's device has a biometric key.
  package let biometricEnabled: Bool
}

package struct EnrolledBank: Sendable {
  package let bsimID: String
  package let name: String
  /// The number of active cards.
  package let cardCount: Int64
}

/// An account's wallet as a whole.
package struct Wallet: Sendable {
  let records: Records

  /// The caller's account, its cards and its banks.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: nil if the account is gone.
  package func summary(of caller: Caller) throws -> WalletSummary? {
    try records.read { transaction in
      // First: a deleted account has no session either, but its answer is different.
      guard let account = try transaction.accounts.find(id: caller.accountID) else { return nil }
      let session = try transaction.sessions.live(caller)
      return WalletSummary(
        account: account, cards: try transaction.cards.list(of: account.id),
        banks: try transaction.enrolledBanks(of: account.id),
        biometricEnabled: try transaction.biometrics.isSet(on: session.deviceID))
    }
  }
}

extension Records {
  package var wallet: Wallet { Wallet(records: self) }
}

extension Transaction {
  fileprivate func enrolledBanks(of account: String) throws(DatabaseError) -> [EnrolledBank] {
    try connection.rows(
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

import Cryptography
import MariaDB

/// The browsers in which somebody has signed in to an account at the page for people: the rows of
/// `account_visits` that have it.
package struct Browsers: Sendable {
  let records: Records

  /// Whether the link in a mail about a browser still has an account to end browsers of.
  package func canEnd(of account: String) throws -> Bool {
    try records.read { transaction in try transaction.accounts.find(id: account) != nil }
  }

  /// Signs all browsers out, and forgets the address that somebody there may have asked for: whoever signed
  /// in may have done so again, or be gone and wait for the address.
  ///
  /// - Returns: false where the account is gone.
  package func endAll(of account: String) throws -> Bool {
    try records.transaction { transaction in
      guard try transaction.accounts.lock(account) else { return false }
      try transaction.visits.endAll(of: account)
      try transaction.addressChanges.withdraw(of: account)
      try transaction.audit.write(
        .logout, account: account, detail: "all browsers, by the link in a mail")
      return true
    }
  }
}

extension Records {
  package var browsers: Browsers { Browsers(records: self) }
}

extension Holding {
  /// The id is the first half of the visit's, written as a UUID; nobody can make the cookie of it. A cast to
  /// UUID would not do: it moves bytes of what looks like a UUID of version 1.
  static let browsers = Holding(
    "browsers", [.text("address"), .time("signedInAt"), .time("expiresAt")],
    """
    SELECT LOWER(CONCAT_WS('-', HEX(LEFT(id, 4)), HEX(SUBSTR(id, 5, 2)), HEX(SUBSTR(id, 7, 2)),
        HEX(SUBSTR(id, 9, 2)), HEX(SUBSTR(id, 11, 6)))),
      NULLIF(address, ''), proved_at, expires_at
    FROM account_visits
    WHERE account_id = ? AND expires_at > UTC_TIMESTAMP(3) ORDER BY proved_at DESC LIMIT ?
    """
  ) { transaction, id, account in
    let ended = try transaction.connection.execute(
      """
      DELETE FROM account_visits
      WHERE account_id = ? AND LEFT(id, 16) = UNHEX(REPLACE(?, '-', '')) AND expires_at > ?
      """,
      [.text(account), .text(id), .time(transaction.now)])
    guard ended > 0 else { return false }
    try transaction.addressChanges.withdraw(of: account)
    try transaction.audit.write(
      .logout, account: account, detail: "a browser, on the account page")
    return true
  }
}

/// What ``Holding/browsers`` calls the visit whose cookie has this hash.
func browserID(ofVisit id: [UInt8]) -> String { uuid(of: id.prefix(16)) }

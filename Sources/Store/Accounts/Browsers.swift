package import Base
import Cryptography
import MariaDB

/// The browsers that are signed in to an account on the account page: the rows of `account_visits`
/// with that account.
package struct Browsers: Sendable {
  let records: Records

  /// Whether the link in a mail about a browser may end something: the account still exists, and
  /// what it may have begun has not expired.
  package func canEnd(_ link: BrowserLink) throws -> Bool {
    guard link.mayEndSomething(at: records.now) else { return false }
    return try records.read { transaction in
      try transaction.accounts.find(id: link.accountID) != nil
    }
  }

  /// Signs out the browsers that the link names, and forgets the address that one of them may have
  /// asked for: a thief may have signed in again, or may wait for that address.
  ///
  /// Later sign-ins stay. They have mails of their own, and whoever has read one mail must not keep
  /// the owner out for ever.
  ///
  /// - Returns: false if the account is gone, or the link is too old.
  package func endAll(_ link: BrowserLink) throws -> Bool {
    guard link.mayEndSomething(at: records.now) else { return false }
    return try records.transaction { transaction in
      let account = link.accountID
      guard try transaction.accounts.lock(account) else { return false }
      _ = try transaction.connection.execute(
        "DELETE FROM account_visits WHERE account_id = ? AND proved_at <= ?",
        [.text(account), .time(link.lastSignIn)])
      _ = try transaction.connection.execute(
        "DELETE FROM address_changes WHERE account_id = ? AND expires_at <= ?",
        [.text(account), .time(link.lastRequest + NewAddressChange.lifetime)])
      try transaction.audit.write(
        .logout, account: account, detail: "all browsers, by the link in a mail")
      return true
    }
  }
}

/// The link in a mail about a sign-in of a browser.
package struct BrowserLink: Sendable {
  package let accountID: String
  private let signedInAt: Timestamp

  package init(accountID: String, signedInAt: Timestamp) {
    self.accountID = accountID
    self.signedInAt = signedInAt
  }

  /// The last sign-in that the link ends: a thief may have signed in once more.
  fileprivate var lastSignIn: Timestamp { signedInAt + NewVisit.lifetime }

  /// The last moment at which one of these browsers can have asked for another address.
  fileprivate var lastRequest: Timestamp { lastSignIn + NewVisit.lifetime }

  fileprivate func mayEndSomething(at now: Timestamp) -> Bool {
    now < lastRequest + NewAddressChange.lifetime
  }
}

extension Records {
  package var browsers: Browsers { Browsers(records: self) }
}

extension AccountData {
  /// The id is the first half of the visit's id, written as a UUID; it does not reveal the cookie.
  /// A cast to UUID does not work: it moves bytes of values that look like a UUID of version 1.
  static let browsers = AccountData(
    "browsers", [.text("address"), .time("signedInAt"), .time("expiresAt")],
    """
    SELECT LOWER(CONCAT_WS('-', HEX(LEFT(id, 4)), HEX(SUBSTR(id, 5, 2)), HEX(SUBSTR(id, 7, 2)),
        HEX(SUBSTR(id, 9, 2)), HEX(SUBSTR(id, 11, 6)))),
      NULLIF(address, ''), proved_at, expires_at
    FROM account_visits
    WHERE expires_at > ? AND account_id = ? ORDER BY proved_at DESC LIMIT ?
    """, selectsUnexpired: true
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

/// The id in ``AccountData/browsers`` of the visit whose cookie has this hash.
func browserID(ofVisit id: [UInt8]) -> String { uuid(of: id.prefix(16)) }

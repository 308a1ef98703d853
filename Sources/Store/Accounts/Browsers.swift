package import Base
import Cryptography
import MariaDB

/// A browser in which somebody has signed in at the page for people.
package struct Browser: Sendable {
  /// A UUID: the first half of the visit's hash. Nobody can make the cookie of it.
  package let id: String
  package let address: String
  package let signedInAt: Timestamp
}

extension Browser {
  /// - Parameter visit: SHA-256 of the cookie.
  static func id(of visit: [UInt8]) -> String { uuid(of: visit.prefix(16)) }
}

/// The browsers of an account, as the link in a mail names one.
package struct Browsers: Sendable {
  let records: Records

  /// nil where nobody is signed in there any more.
  package func find(_ id: String, of account: String) throws -> Browser? {
    try records.read { transaction in try transaction.browsers.find(id, of: account) }
  }

  /// Signs a browser out, and forgets the address that somebody there may have asked for.
  ///
  /// - Returns: false where nobody is signed in there any more.
  package func end(_ id: String, of account: String) throws -> Bool {
    try records.transaction { transaction in
      try transaction.browsers.end(id, of: account, because: "by the link in a mail")
    }
  }
}

extension Records {
  package var browsers: Browsers { Browsers(records: self) }
}

/// Statements on the rows of `account_visits` that have an account.
struct BrowserStatements: ~Copyable {
  let transaction: Transaction

  fileprivate func find(_ id: String, of account: String) throws(DatabaseError) -> Browser? {
    try transaction.connection.row(
      """
      SELECT CAST(LEFT(id, 16) AS UUID), address, proved_at FROM account_visits
      WHERE account_id = ? AND CAST(LEFT(id, 16) AS UUID) = ? AND expires_at > ?
      """,
      [.text(account), .text(id), .time(transaction.now)]
    ) { row in
      Browser(id: row.text(0), address: row.text(1), signedInAt: row.timestamp(2))
    }
  }

  /// - Returns: false where nobody is signed in there any more.
  func end(_ id: String, of account: String, because detail: String) throws(DatabaseError) -> Bool {
    let ended = try transaction.connection.execute(
      """
      DELETE FROM account_visits
      WHERE account_id = ? AND CAST(LEFT(id, 16) AS UUID) = ? AND expires_at > ?
      """,
      [.text(account), .text(id), .time(transaction.now)])
    guard ended > 0 else { return false }
    try transaction.addressChanges.withdraw(of: account)
    try transaction.audit.write(.logout, account: account, detail: "a browser, \(detail)")
    return true
  }
}

extension Transaction {
  var browsers: BrowserStatements { BrowserStatements(transaction: Transaction(sharing: self)) }
}

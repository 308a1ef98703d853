package import Base
import Cryptography
import MariaDB

/// A request for another e-mail address.
package struct NewAddressChange: Sendable {
  /// Lifetime of the mailed link.
  package static let lifetime = Duration.seconds(86_400)

  /// Lower-cased.
  package let email: String
  /// The token in the mailed link.
  package let token: String

  package init(email: String, token: String) {
    self.email = email
    self.token = token
  }
}

/// An account that asks for another address, as shown to the owner of that address, so that the
/// owner does not confuse a stranger's account with their own.
package struct WantedAddress: Sendable, Equatable {
  /// The new address.
  package let email: String
  /// Name of the account; the members below also belong to the account.
  package let name: String
  package let createdAt: Timestamp
  /// The phone that was used last; nil if no phone is signed in.
  package let deviceName: String?
}

/// Changes of e-mail addresses by the mailed link.
package struct AddressChanges: Sendable {
  let records: Records

  /// The address and the account of the link with this token; nil if the link was used or has
  /// expired.
  package func wanted(by tokenHash: [UInt8]) throws -> WantedAddress? {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT c.email, a.name, a.created_at,
          (SELECT d.name FROM devices d WHERE d.account_id = a.id AND d.revoked_at IS NULL
           ORDER BY d.last_used_at DESC, d.id LIMIT 1)
        FROM address_changes c JOIN accounts a ON a.id = c.account_id
        LEFT JOIN sessions s ON s.id = c.session_id
        WHERE c.token_hash = ? AND c.expires_at > ?
          AND (c.session_id IS NULL OR s.ended_at IS NULL AND s.expires_at > ?)
        """,
        [.bytes(tokenHash), .time(transaction.now), .time(transaction.now)]
      ) { row in
        WantedAddress(
          email: row.text(0), name: row.text(1), createdAt: row.timestamp(2),
          deviceName: row.optionalText(3))
      }
    }
  }

  /// Gives the account the address that the link proves, and mails the old address, if it was
  /// proven. Spends the token.
  ///
  /// - Returns: false if the link was used before, has expired, its session has ended, or another account has the
  ///   address by now.
  package func complete(_ tokenHash: [UInt8]) throws -> Bool {
    // Found before the transaction, which locks the account before the first read.
    guard let id = try account(ofLink: tokenHash) else { return false }
    do {
      return try records.transaction { transaction in
        guard try transaction.accounts.lock(id),
          let wish = try transaction.addressChanges.lock(tokenHash),
          let old = try transaction.accounts.find(id: id)
        else { return false }
        let isProven = try transaction.accounts.isProven(old.id)
        try transaction.addressChanges.withdraw(of: old.id)
        try transaction.addressChanges.replaceAddress(of: old.id, by: wish.email)
        try transaction.traces.erase(ofAddress: old.email)
        if isProven {
          try transaction.mails.post(
            .addressChanged, to: old.email, of: old.id,
            MailContent(
              secret: "", language: old.language ?? .english, device: "",
              address: records.origin.storedAddress, at: records.now),
            lifetime: NewAddressChange.noticeLifetime)
        } else {
          try transaction.addressProofs.keepAll(of: old.id)
        }
        try transaction.audit.write(.addressChanged, account: old.id)
        return true
      }
    } catch let error as DatabaseError where error.code == .duplicateEntry {
      return false
    }
  }

  /// Withdraws the request that the mail to the old address was about, and signs out the device, or all browsers,
  /// that may have asked.
  ///
  /// - Returns: nil if the account no longer waits for this address.
  package func withdraw(byLink tokenHash: [UInt8]) throws -> EndedSession? {
    guard let id = try account(ofLink: tokenHash) else { return nil }
    return try records.transaction { transaction in
      guard try transaction.accounts.lock(id),
        let wish = try transaction.addressChanges.lock(tokenHash)
      else { return nil }
      try transaction.addressChanges.withdraw(of: id)
      if let session = wish.sessionID {
        return try transaction.sessions.endNoted(session, passkeyID: nil)
      }
      try transaction.visits.endAll(of: id)
      try transaction.audit.write(
        .logout, account: id, detail: "all browsers, by the link in a mail")
      return EndedSession(device: false, passkey: false)
    }
  }

  private func account(ofLink tokenHash: [UInt8]) throws -> String? {
    try records.read { transaction in
      try transaction.connection.row(
        "SELECT account_id FROM address_changes WHERE token_hash = ?", [.bytes(tokenHash)]
      ) { row in row.text(0) }
    }
  }
}

extension NewAddressChange {
  fileprivate static let noticeLifetime = Duration.seconds(3 * 86_400)
}

extension Records {
  package var addressChanges: AddressChanges { AddressChanges(records: self) }
}

/// Statements on `address_changes`.
struct AddressChangeStatements: ~Copyable {
  let transaction: Transaction

  /// Stores the request of an account for another address, and posts the mail with the link. If
  /// another account has the address, the same happens, but the mail is not sent. A request for the
  /// current address of the account withdraws an earlier request.
  ///
  /// An unproven address gets 6 of these mails and codes together a day from one network, and 30 in
  /// all; more are not sent. The current address is told, if it is proven.
  ///
  /// - Parameter caller: the caller whose session asks, and the id of the device; nil: a browser asks. The request
  ///   ends with the session.
  /// - Throws: ``RateLimited`` at more than 5 requests an hour of one account, or 20 from one
  ///   address.
  func begin(
    _ change: NewAddressChange, of account: Account, by caller: (session: String, device: String)?
  ) throws {
    guard change.email != account.email else { return try withdraw(of: account.id) }
    try transaction.limits.countAddress(.addressChangesByAddress)
    try transaction.limits.count(.addressChanges, of: account.id)
    let isTaken = try transaction.accounts.find(email: change.email) != nil
    let mayMail = try transaction.codeLimits.admitMail(
      toUnproven: change.email, by: .stranger, isLimited: true)
    _ = try transaction.connection.execute(
      """
      INSERT INTO address_changes (account_id, email, token_hash, expires_at, session_id)
      VALUES (?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE email = VALUES(email), token_hash = VALUES(token_hash),
        expires_at = VALUES(expires_at), session_id = VALUES(session_id)
      """,
      [
        .text(account.id), .text(change.email), .bytes(sha256(change.token)),
        .time(transaction.now + NewAddressChange.lifetime), .text(caller?.session),
      ])
    try transaction.mails.post(
      .addressChange, to: change.email, of: account.id,
      MailContent(
        secret: change.token, language: account.language ?? .english, device: "",
        address: transaction.origin.storedAddress, at: transaction.now),
      isSuppressed: isTaken || !mayMail, lifetime: NewAddressChange.lifetime)
    try transaction.notices.tell(ofChange: sha256(change.token), in: caller?.session, account)
    try transaction.audit.write(.addressChangeBegun, account: account.id, device: caller?.device)
  }

  /// Forgets the address that an account waits for: the request may come from a thief.
  func withdraw(of account: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "DELETE FROM address_changes WHERE account_id = ?", [.text(account)])
  }

  /// The address that an account waits for; nil if it waits for none.
  func pending(of account: String) throws(DatabaseError) -> String? {
    try transaction.connection.row(
      """
      SELECT c.email FROM address_changes c LEFT JOIN sessions s ON s.id = c.session_id
      WHERE c.account_id = ? AND c.expires_at > ?
        AND (c.session_id IS NULL OR s.ended_at IS NULL AND s.expires_at > ?)
      """,
      [.text(account), .time(transaction.now), .time(transaction.now)]
    ) { row in row.text(0) }
  }

  /// The live request with this token, if its session has not ended. Keeps both from changing before the
  /// transaction's end.
  fileprivate func lock(
    _ tokenHash: [UInt8]
  ) throws(DatabaseError) -> (email: String, sessionID: String?)? {
    try transaction.connection.row(
      """
      SELECT c.email, c.session_id FROM address_changes c LEFT JOIN sessions s ON s.id = c.session_id
      WHERE c.token_hash = ? AND c.expires_at > ?
        AND (c.session_id IS NULL OR s.ended_at IS NULL AND s.expires_at > ?)
      FOR UPDATE
      """,
      [.bytes(tokenHash), .time(transaction.now), .time(transaction.now)]
    ) { row in (row.text(0), row.optionalText(1)) }
  }

  /// Replaces the username too, if it is the old address. MariaDB assigns from left to right.
  fileprivate func replaceAddress(of account: String, by email: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE accounts SET username = IF(username = email, ?, username), email = ?,
        email_verified_at = ? WHERE id = ?
      """,
      [.text(email), .text(email), .time(transaction.now), .text(account)])
  }
}

extension Transaction {
  var addressChanges: AddressChangeStatements {
    AddressChangeStatements(transaction: Transaction(sharing: self))
  }
}

import Base
import MariaDB

/// Actions of administrators on accounts. Each is audited with the reason, and owners whose address
/// is proven are told by mail. The mails do not contain the reason: their texts are the companion's
/// own.
package struct AccountBans: Sendable {
  let records: Records

  /// Bans an account: rejects every sign-in to it until ``lift(_:because:)``. Ends its sessions,
  /// visits of browsers, device credentials, push tokens and unfinished operations. Everything else
  /// stays.
  ///
  /// A sign-in locks the account: one that comes first is ended here, a later one finds the ban.
  ///
  /// - Returns: false if the account is gone or banned already.
  package func ban(_ account: String, because reason: String) throws -> Bool {
    try records.transaction { transaction in
      guard try transaction.bans.set(on: account, because: reason) else { return false }
      for device in try transaction.devices.lockAll(of: account) {
        try transaction.sessions.endAll(of: device, because: .administrator)
        try transaction.pushTokens.removeAll(ofSigningOut: device)
      }
      for statement in transaction.rooms.flatMap(\.whenAccountIsBanned) {
        _ = try transaction.connection.execute(statement, [.text(account)])
      }
      try transaction.audit.write(.accountBanned, account: account, detail: reason)
      if let owner = try transaction.accounts.owner(of: account) {
        try transaction.mails.tell(.accountBanned, owner, of: account)
      }
      return true
    }
  }

  /// Lets the owner of a banned account sign in again.
  ///
  /// - Returns: false if the account is gone or not banned.
  package func lift(_ account: String, because reason: String) throws -> Bool {
    try records.transaction { transaction in
      guard try transaction.bans.lift(from: account) else { return false }
      try transaction.audit.write(.accountUnbanned, account: account, detail: reason)
      if let owner = try transaction.accounts.owner(of: account) {
        try transaction.mails.tell(.accountUnbanned, owner, of: account)
      }
      return true
    }
  }

  /// Deletes an account, as its owner can; also a banned one.
  ///
  /// - Returns: false if the account is gone.
  package func delete(_ account: String, because reason: String) throws -> Bool {
    try records.transaction { transaction in
      try transaction.accounts.delete(
        account, by: nil, detail: "by an administrator: \(reason)")
    }
  }
}

extension Records {
  package var accountBans: AccountBans { AccountBans(records: self) }
}

private struct BanStatements: ~Copyable {
  let transaction: Transaction

  func set(on account: String, because reason: String) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      "UPDATE accounts SET banned_at = ?, ban_reason = ? WHERE id = ? AND banned_at IS NULL",
      [.time(transaction.now), .text(reason.cut(to: 200)), .text(account)]) == 1
  }

  func lift(from account: String) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      "UPDATE accounts SET banned_at = NULL, ban_reason = NULL WHERE id = ? AND banned_at IS NOT NULL",
      [.text(account)]) == 1
  }
}

extension Transaction {
  fileprivate var bans: BanStatements { BanStatements(transaction: Transaction(sharing: self)) }
}

/// The recipient of mails about an account.
struct AccountOwner {
  let email: String
  let language: Language
}

extension AccountStatements {
  /// - Returns: nil if the address is not proven: it may be a stranger's.
  func owner(of id: String) throws(DatabaseError) -> AccountOwner? {
    try transaction.connection.row(
      "SELECT email, language FROM accounts WHERE id = ? AND email_verified_at IS NOT NULL",
      [.text(id)]
    ) { row in
      AccountOwner(
        email: row.text(0),
        language: row.optionalText(1).flatMap { Language(rawValue: $0) } ?? .english)
    }
  }
}

extension MailStatements {
  /// Mails an owner about a change of the account.
  ///
  /// - Parameter account: the account of the mail; nil if it is deleted.
  func tell(
    _ kind: MailKind, _ owner: AccountOwner, of account: String? = nil
  ) throws(DatabaseError) {
    try post(
      kind, to: owner.email, of: account,
      MailContent(
        secret: "", language: owner.language, device: "",
        address: transaction.origin.storedAddress, at: transaction.now),
      lifetime: SecurityMail.lifetime)
  }
}

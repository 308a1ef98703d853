import Base
package import Store

/// Accounts, their devices and their sessions, for administrators. Functions that send a mail to
/// the owner need records with the keys for mails.
package struct AccountAdministration: Sendable {
  private let records: Records

  package init(records: Records) {
    self.records = records
  }

  /// At most `limit` accounts whose e-mail addresses sort after `email`.
  package func list(after email: String, limit: Int) throws -> Report {
    Report(Self.accounts(try records.accounts.list(after: email.lowercased(), limit: limit)))
  }

  /// The account with its devices and sessions.
  ///
  /// - Returns: nil if no account has this e-mail address.
  package func show(_ email: String, limit: Int) throws -> Report? {
    guard let account = try records.accounts.find(email) else { return nil }
    return Report(
      Self.account(account), try deviceListing(of: account, limit: limit),
      try sessions(of: account, limit: limit))
  }

  /// The devices of the account, including revoked ones.
  ///
  /// - Returns: nil if no account has this e-mail address.
  package func deviceReport(of email: String, limit: Int) throws -> Report? {
    try records.accounts.find(email).map { Report(try deviceListing(of: $0, limit: limit)) }
  }

  /// The sessions of the account that have not ended.
  ///
  /// - Returns: nil if no account has this e-mail address.
  package func sessions(of email: String, limit: Int) throws -> Report? {
    try records.accounts.find(email).map { Report(try sessions(of: $0, limit: limit)) }
  }

  /// Signs out the device of a session.
  ///
  /// - Returns: nil if no live session has this id.
  package func endSession(_ id: String) throws -> Change? {
    guard try records.sessions.endByAdministrator(id) else { return nil }
    return Change(
      isRehearsal: records.isRehearsal, "Ended", or: "end",
      "the session \(id). Its device is signed out and gets no more notifications.")
  }

  /// Signs out all devices and browsers of an account.
  ///
  /// - Returns: nil if no account has this e-mail address.
  package func endSessions(of email: String) throws -> Change? {
    guard let account = try records.accounts.find(email) else { return nil }
    try records.sessions.endAll(of: account.id)
    return Change(
      isRehearsal: records.isRehearsal, "Ended", or: "end",
      "all sessions of \(account.email), also in browsers.")
  }

  /// Bans the account: its owner is signed out everywhere and cannot sign in.
  ///
  /// - Returns: nil if no account has this e-mail address, or if it is already banned.
  package func ban(_ email: String, because reason: String) throws -> Change? {
    guard let account = try records.accounts.find(email),
      try records.accountBans.ban(account.id, because: reason)
    else { return nil }
    return change(
      of: account, "Banned", or: "ban",
      "\(account.email). Its sessions have ended, it gets no pushes, and nobody can sign in to it.")
  }

  /// - Returns: nil if no account has this e-mail address, or if it is not banned.
  package func unban(_ email: String, because reason: String) throws -> Change? {
    guard let account = try records.accounts.find(email),
      try records.accountBans.lift(account.id, because: reason)
    else { return nil }
    return change(
      of: account, "Unbanned", or: "unban", "\(account.email). Its owner can sign in again.")
  }

  /// Deletes the account with everything that it owns.
  ///
  /// - Returns: nil if no account has this e-mail address.
  package func delete(_ email: String, because reason: String) throws -> Change? {
    guard let account = try records.accounts.find(email),
      try records.accountBans.delete(account.id, because: reason)
    else { return nil }
    return change(
      of: account, "Deleted", or: "delete",
      "the account \(account.email) with everything that it had. Payments stay without it.")
  }

  private func change(
    of account: AccountRecord, _ past: String, or future: String, _ rest: String
  ) -> Change {
    let told =
      account.provenAt == nil
      ? "No mail is sent: the address is not confirmed." : "The owner gets a mail."
    return Change(isRehearsal: records.isRehearsal, past, or: future, "\(rest) \(told)")
  }

  private static func accounts(_ found: FirstRows<AccountRecord>) -> Listing {
    Listing("accounts", columns + ["email"], of: found) { row($0) + [.text($0.email)] }
  }

  private static func account(_ account: AccountRecord) -> Listing {
    Listing("accounts", columns + ["ban_reason", "email"], of: [account]) {
      row($0) + [.text($0.banReason), .text($0.email)]
    }
  }

  private static let columns: [StaticString] = ["id", "created_at", "proven_at", "banned_at"]

  private static func row(_ account: AccountRecord) -> [Listing.Value] {
    [
      .text(account.id), .time(account.createdAt), .time(account.provenAt),
      .time(account.bannedAt),
    ]
  }

  private func deviceListing(of account: AccountRecord, limit: Int) throws -> Listing {
    let tokens = Dictionary(
      grouping: try records.pushTokens.list(of: account.id, limit: 1_000), by: \.deviceID)
    return Listing(
      "devices",
      [
        "id", "platform", "created_at", "last_used_at", "revoked_at", "takes_pushes", "push_tokens",
      ],
      of: try records.accounts.devices(of: account.id, limit: limit)
    ) { device in
      [
        .text(device.id), .text(device.platform.rawValue), .time(device.createdAt),
        .time(device.lastUsedAt), .time(device.revokedAt), .flag(device.takesPushes),
        .words((tokens[device.id] ?? []).map(\.token.tokenPreview)),
      ]
    }
  }

  private func sessions(of account: AccountRecord, limit: Int) throws -> Listing {
    Listing(
      "sessions", ["id", "device", "started_at", "refreshed_at", "expires_at"],
      of: try records.accounts.sessions(of: account.id, limit: limit)
    ) { session in
      [
        .text(session.id), .text(session.deviceID), .time(session.startedAt),
        .time(session.refreshedAt), .time(session.expiresAt),
      ]
    }
  }
}

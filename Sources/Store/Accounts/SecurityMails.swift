package import Base
import Cryptography
import MariaDB

/// An event that the owner of an account is told by mail.
package enum SecurityMail: Sendable, Equatable {
  /// A sign-in on a device that was new to the account.
  case newDevice
  /// The id of the passkey.
  case passkeyAdded(String)
  case biometricKeyAdded
  /// A device got a new credential with only a bearer.
  case deviceRenewed
  /// A passkey, or the biometric key of another device, was removed.
  case keyRemoved
  /// All passkeys and biometric keys were removed, at a sign-out everywhere.
  case allKeysRemoved
  /// A refresh token was used twice, and its session ended.
  case refreshReused

  var mailKind: MailKind {
    switch self {
    case .newDevice: .newDevice
    case .passkeyAdded: .passkeyAdded
    case .biometricKeyAdded: .biometricKeyAdded
    case .deviceRenewed: .deviceRenewed
    case .keyRemoved, .allKeysRemoved: .keysRemoved
    case .refreshReused: .refreshReused
    }
  }

  /// The parts of the link that ends the session; nil if the session has already ended.
  fileprivate func linkParts(of sessionID: String) -> [String]? {
    switch self {
    case .newDevice, .biometricKeyAdded, .deviceRenewed, .keyRemoved: [sessionID, ""]
    case .passkeyAdded(let id): [sessionID, id]
    case .allKeysRemoved, .refreshReused: nil
    }
  }

  /// Lifetime of the mail.
  static let lifetime = Duration.seconds(7 * 86_400)
}

/// Statements that mail owners about events.
struct SecurityMailStatements: ~Copyable {
  let transaction: Transaction

  /// Mails the owner about an event in the session, with a link that ends the session.
  ///
  /// Mails nothing if the account's address is not proven: it may be a stranger's.
  func tell(_ notice: SecurityMail, of sessionID: String) throws(DatabaseError) {
    let owner = try transaction.connection.row(
      """
      SELECT a.email, a.language, d.name, a.id FROM sessions s
      JOIN devices d ON d.id = s.device_id JOIN accounts a ON a.id = d.account_id
      WHERE s.id = ? AND a.email_verified_at IS NOT NULL
      """,
      [.text(sessionID)]
    ) { row in
      (
        email: row.text(0), language: row.optionalText(1).flatMap { Language(rawValue: $0) },
        device: row.text(2), account: row.text(3)
      )
    }
    guard let owner else { return }
    let link = notice.linkParts(of: sessionID).map {
      transaction.mails.linkToken(for: .ending, of: $0)
    }
    try post(
      notice.mailKind, to: owner.email, of: owner.account, in: owner.language, device: owner.device,
      link: link)
  }

  /// Mails the owner of an account, whose address is proven, about an event on the account page,
  /// with a link that signs all browsers out.
  func tell(_ kind: MailKind, inBrowserOf account: Account) throws(DatabaseError) {
    try post(
      kind, to: account.email, of: account.id, in: account.language, device: "",
      link: transaction.mails.linkToken(
        for: .browserEnding, of: [account.id, String(transaction.now.seconds)]))
  }

  /// Mails the owner of an account, whose address is proven, that another address was asked for, with a link that
  /// withdraws the request.
  ///
  /// - Parameters:
  ///   - tokenHash: SHA-256 of the token of the link that was mailed to the new address.
  ///   - sessionID: the session that asked; nil: a browser asked.
  func tell(
    ofChange tokenHash: [UInt8], in sessionID: String?, _ account: Account
  ) throws(DatabaseError) {
    guard try transaction.accounts.isProven(account.id) else { return }
    let device = try sessionID.flatMap { id throws(DatabaseError) in
      try transaction.connection.row(
        "SELECT d.name FROM sessions s JOIN devices d ON d.id = s.device_id WHERE s.id = ?",
        [.text(id)]
      ) { row in row.text(0) }
    }
    try post(
      .addressChangeBegun, to: account.email, of: account.id, in: account.language,
      device: device ?? "",
      link: transaction.mails.linkToken(for: .withdrawal, of: [base64URLEncoded(tokenHash)]))
  }

  /// Mails the owner, who has just proven the address of an account, what the account has, with a link that removes
  /// all of it.
  func tellOfAccess(_ access: [AccountAccess], of account: String) throws(DatabaseError) {
    guard !access.isEmpty, let owner = try transaction.accounts.find(id: account) else { return }
    try post(
      .addressProven, to: owner.email, of: owner.id, in: owner.language,
      device: access.first { $0.kind == .device }?.name ?? "",
      link: transaction.mails.linkToken(
        for: .removal, of: [account, String(transaction.now.milliseconds)]),
      access: access)
  }

  private func post(
    _ kind: MailKind, to email: String, of account: String, in language: Language?,
    device: String, link: String?, access: [AccountAccess] = []
  ) throws(DatabaseError) {
    try transaction.mails.post(
      kind, to: email, of: account,
      MailContent(
        secret: link ?? "", language: language ?? .english, device: device,
        address: transaction.origin.storedAddress, at: transaction.now,
        access: access.map { .init(kind: $0.kind, since: $0.since) }),
      lifetime: SecurityMail.lifetime)
  }
}

extension Transaction {
  var notices: SecurityMailStatements {
    SecurityMailStatements(transaction: Transaction(sharing: self))
  }
}

/// The session that the link of a mail ends.
package struct NotedSession: Sendable {
  package let deviceName: String
  package let startedAt: Timestamp
  /// Whether the link removes passkeys, other than one that it names.
  package let hasPasskeys: Bool
}

extension Sessions {
  /// The session of a link; nil if it is gone.
  package func noted(_ id: String) throws -> NotedSession? {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT d.name, s.created_at, EXISTS (SELECT 1 FROM passkeys p JOIN sessions t ON t.id = p.session_id
          WHERE t.device_id = d.id AND p.account_id = d.account_id AND p.created_at >= s.created_at)
        FROM sessions s JOIN devices d ON d.id = s.device_id
        WHERE s.id = ?
        """,
        [.text(id)]
      ) { row in
        NotedSession(
          deviceName: row.text(0), startedAt: row.timestamp(1), hasPasskeys: row.boolean(2))
      }
    }
  }

  /// Revokes the device of the session, removes the passkeys that the device has added since the session began,
  /// and ends visits of browsers and the request for another address, which a thief may have begun.
  ///
  /// The link of a session revokes its device once: whoever has read the mail must not sign the owner
  /// out again and again. Afterward it only removes passkeys that the session itself has added.
  ///
  /// - Parameter passkeyID: the only passkey that the link removes: the others have mails of their own; nil if the
  ///   link is not about a passkey.
  package func endNoted(_ id: String, passkeyID: String?) throws -> EndedSession {
    try records.transaction { transaction in
      try transaction.sessions.endNoted(id, passkeyID: passkeyID)
    }
  }
}

extension SessionStatements {
  /// ``Sessions/endNoted(_:passkeyID:)``
  func endNoted(_ id: String, passkeyID: String?) throws(DatabaseError) -> EndedSession {
    let found = try transaction.connection.row(
      """
      SELECT d.id, d.account_id,
        d.revoked_at IS NULL AND NOT s.end_reason <=> 'device_revoked'
      FROM sessions s JOIN devices d ON d.id = s.device_id WHERE s.id = ? FOR UPDATE
      """,
      [.text(id)]
    ) { row in (device: row.text(0), account: row.text(1), isSignedIn: row.boolean(2)) }
    guard let found else { return EndedSession(device: false, passkey: false) }
    let passkeys =
      if let passkeyID { [passkeyID] } else {
        try passkeys(addedSince: id, byOthers: found.isSignedIn)
      }
    var isRemoved = false
    for passkey in passkeys
    where try transaction.passkeys.remove(passkey, of: found.account, by: found.device) {
      isRemoved = true
    }
    let ended = EndedSession(device: found.isSignedIn, passkey: isRemoved)
    guard ended.device || ended.passkey else { return ended }
    if ended.device {
      try transaction.devices.revoke(found.device, because: .deviceRevoked)
      try noteRevocation(of: id)
      try transaction.audit.write(
        .deviceRevoked, account: found.account, device: found.device,
        detail: "by the link in a mail")
    }
    try transaction.visits.endAll(of: found.account)
    try transaction.addressChanges.withdraw(of: found.account)
    return ended
  }

  /// The passkeys that a session has added.
  ///
  /// - Parameter byOthers: whether later sessions of its device count too.
  private func passkeys(
    addedSince id: String, byOthers: Bool
  ) throws(DatabaseError) -> [String] {
    try transaction.connection.rows(
      """
      SELECT p.id FROM sessions s JOIN devices d ON d.id = s.device_id
      STRAIGHT_JOIN passkeys p ON p.account_id = d.account_id AND p.created_at >= s.created_at
      STRAIGHT_JOIN sessions t ON t.id = p.session_id AND t.device_id = d.id
      WHERE s.id = ? AND (t.id = s.id OR ?) FOR UPDATE
      """,
      [.text(id), .boolean(byOthers)]
    ) { row in row.text(0) }
  }

  /// Marks a session whose device was revoked by its link, also if the session had ended before.
  fileprivate func noteRevocation(of id: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      """
      UPDATE sessions SET ended_at = COALESCE(ended_at, ?), end_reason = 'device_revoked'
      WHERE id = ?
      """,
      [.time(transaction.now), .text(id)])
  }
}

/// The things that the link in a mail has ended.
package struct EndedSession: Sendable {
  package let device: Bool
  package let passkey: Bool
}

/// Mails about an account's security, as the companion uses them.
package struct SecurityMails: Sendable {
  let records: Records

  /// Posts a push in addition to a mail, to all devices of the mail's account that are signed in and
  /// allow pushes. The same mail again posts no second push. A mail that has waited for twelve hours
  /// posts none: the purge forgets a push after a day, and an attempt after that would post it again.
  ///
  /// - Parameter channels: the channel of each platform that can get a push.
  package func push(
    _ content: NotificationContent, with mail: Mail, by channels: [PushPlatform: Channel]
  ) throws {
    try records.transaction { transaction in
      let found = try transaction.connection.rows(
        """
        SELECT t.token, t.platform, t.bundle_id, a.id FROM accounts a
        JOIN outbox o ON o.id = ? AND o.created_at > UTC_TIMESTAMP(3) - INTERVAL 12 HOUR
        JOIN devices d ON d.account_id = a.id
        JOIN push_tokens t ON t.device_id = d.id
        JOIN device_preferences p ON p.device_id = d.id
        WHERE a.email = ? AND FIND_IN_SET(t.platform, ?)
          AND (p.version = 0 OR p.push_enabled)
          AND EXISTS (SELECT 1 FROM sessions s
            WHERE s.device_id = d.id AND s.ended_at IS NULL AND s.expires_at > ?)
        ORDER BY t.token LIMIT 100
        """,
        [
          .text(mail.id), .text(mail.recipient),
          .text(channels.keys.map(\.rawValue).joined(separator: ",")), .time(transaction.now),
        ]
      ) { row in
        (
          account: row.text(3),
          address: channels[PushPlatform(row: row, 1)].map {
            PushAddress(row.text(0), by: $0, bundleID: row.optionalText(2))
          }
        )
      }
      let addresses = found.compactMap(\.address)
      guard !addresses.isEmpty else { return }
      _ = try transaction.notifications.post(
        NewNotification(
          kind: .account, eventKey: "mail \(mail.id)", content: content, lifetime: .day,
          to: addresses, of: found[0].account))
    }
  }
}

extension Records {
  package var notices: SecurityMails { SecurityMails(records: self) }
}

extension NewNotification.Kind {
  static let account = NewNotification.Kind("account")
}

import Base
import Cryptography
import MariaDB

/// A mail in the outbox.
package struct Mail: Sendable, Equatable {
  package let id: String
  /// nil for a kind that this version does not know.
  package let kind: MailKind?
  /// E-mail address.
  package let recipient: String
  /// The part that only the companion may read.
  package let sealed: String

  package init(id: String, kind: MailKind?, recipient: String, sealed: String) {
    self.id = id
    self.kind = kind
    self.recipient = recipient
    self.sealed = sealed
  }

  /// The sealing context of ``sealed``, so that it opens in its own row only.
  package static func sealingContext(_ id: String) -> String { "mail \(id)" }
}

/// A mail that one pass of the companion holds until its lease ends.
package struct ClaimedMail: Sendable {
  package let mail: Mail
  /// Whether an account has the recipient's address, had it, or is to get it.
  package let isToAccount: Bool
  /// The claim of the pass.
  package let claimID: String
  /// Attempts, including this one.
  package let attempts: Int64
}

/// The kind of a mail.
package enum MailKind: String, Sendable, CaseIterable {
  case loginCode = "login_code"
  case emailConfirmation = "email_confirmation"
  case newDevice = "new_device"
  case passkeyAdded = "passkey_added"
  case biometricKeyAdded = "biometric_key_added"
  case refreshReused = "refresh_reused"
  /// Asks at the new address whether the account is to get it.
  case addressChange = "address_change"
  /// Lists what opens an account whose address was just proven.
  case addressProven = "address_proven"
  /// Tells the present address that another one was asked for.
  case addressChangeBegun = "address_change_begun"
  /// Tells the old address that another address has replaced it.
  case addressChanged = "address_changed"
  case deviceRenewed = "device_renewed"
  case accountDeleted = "account_deleted"
  /// A sign-in on the account page.
  case browserSignedIn = "browser_signed_in"
  /// Passkeys or biometric keys were removed.
  case keysRemoved = "keys_removed"
  /// An administrator has banned the account.
  case accountBanned = "account_banned"
  case accountUnbanned = "account_unbanned"

  /// Whether a mail of this kind may go to an address that no account has now.
  ///
  /// - Parameter accountStays: whether the account that the mail is about still exists.
  fileprivate func mayLeave(accountStays: Bool) -> Bool {
    switch self {
    case .addressChange, .addressChanged: accountStays
    case .accountDeleted: true
    case .loginCode, .emailConfirmation, .newDevice, .passkeyAdded, .biometricKeyAdded,
      .refreshReused, .deviceRenewed, .browserSignedIn, .keysRemoved, .accountBanned,
      .accountUnbanned, .addressChangeBegun, .addressProven:
      false
    }
  }
}

package enum MailOutcome: Sendable {
  case delivered
  /// Retried later, until it expires.
  case failed(reason: String)
  /// Given up: a retry cannot help.
  case dead(reason: String)
}

/// The outbox of mails as the companion uses it. It uses only the database's clock.
package struct Mails: Sendable {
  let records: Records

  /// Claims up to `limit` mails that are due, for two minutes. The claim is committed before the
  /// work begins, and counts as an attempt.
  ///
  /// Locks each mail by its id alone, and waits for no other claim: it takes the next mails.
  ///
  /// - Parameter claimID: a UUID, made for this claim alone.
  package func claim(limit: Int, as claimID: String) throws -> [ClaimedMail] {
    let due = try records.read { transaction in try transaction.mails.due() }
    return try records.lockingRows { transaction in
      var claimed: [ClaimedMail] = []
      for id in due where claimed.count < limit {
        guard let mail = try transaction.mails.lock(id, as: claimID),
          try transaction.mails.claim(mail)
        else { continue }
        claimed.append(mail)
      }
      return claimed
    }
  }

  /// Records the outcome of a mail, if the claim still holds. By the index of claims it would lock gaps, and wait for claims
  /// that wait for it.
  ///
  /// A failed mail is due again after 2, 4, 8 … seconds, at most a minute.
  ///
  /// - Returns: false if another pass has the lease; then nothing is written.
  package func record(_ outcome: MailOutcome, of claimed: ClaimedMail) throws -> Bool {
    try records.transaction { transaction in
      switch outcome {
      case .delivered: try transaction.mails.close(claimed, as: "delivered", reason: nil)
      case .dead(let reason): try transaction.mails.close(claimed, as: "dead", reason: reason)
      case .failed(let reason): try transaction.mails.postpone(claimed, reason: reason)
      }
    }
  }

  /// Closes mails that have expired unsent. Removes the address from mails about a deleted account.
  ///
  /// - Returns: the number of mails.
  package func expire() throws -> Int {
    let expired = try records.read { transaction in try transaction.mails.expired() }
    return try records.lockingRows { transaction in
      try expired.filter { id in try transaction.mails.expire(id) }.count
    }
  }

  /// The recipients of at most `limit` mails that are due, the longest waiting first.
  package func dueRecipients(limit: Int) throws -> [String] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT recipient FROM outbox
        WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND expires_at > UTC_TIMESTAMP(3)
        ORDER BY due_at LIMIT ?
        """,
        [.integer(Int64(limit))]
      ) { row in row.text(0) }
    }
  }
}

extension Records {
  package var mails: Mails { Mails(records: self) }
}

/// Statements on `outbox`.
struct MailStatements: ~Copyable {
  let transaction: Transaction

  /// Posts a mail to the outbox.
  ///
  /// - Parameters:
  ///   - account: deleting this account deletes the mail; nil: no account.
  ///   - id: the id of the row; by default a new one.
  ///   - isSuppressed: whether the mail is never sent.
  func post(
    _ kind: MailKind, to recipient: String, of account: String?, _ content: MailContent,
    id: String? = nil, isSuppressed: Bool = false, lifetime: Duration
  ) throws(DatabaseError) {
    let id = id ?? transaction.makeID()
    let sealed = seal(
      content.json, authenticating: Mail.sealingContext(id), for: keys.sealing)
    _ = try transaction.connection.execute(
      """
      INSERT INTO outbox (id, kind, recipient, sealed, state, expires_at, request_id, finished_at,
        account_id)
      VALUES (?, ?, ?, IF(?, NULL, ?), IF(?, 'suppressed', 'open'),
        UTC_TIMESTAMP(3) + INTERVAL ? SECOND, ?, IF(?, UTC_TIMESTAMP(3), NULL), ?)
      """,
      [
        .text(id), .text(kind.rawValue), .text(recipient), .boolean(isSuppressed), .text(sealed),
        .boolean(isSuppressed), .integer(lifetime.components.seconds),
        .text(transaction.origin.storedRequestID), .boolean(isSuppressed), .text(account),
      ])
  }

  /// The token of a link that goes with a mail.
  func linkToken(for purpose: LinkToken.Purpose, of parts: [String]) -> String {
    guard let links = keys.links else {
      preconditionFailure("only the responder posts mails with a link, and it has the keys")
    }
    return LinkToken.make(for: purpose, of: parts, with: links.newest)
  }

  private var keys: MailKeys {
    guard let keys = transaction.records.database.mailKeys else {
      preconditionFailure("only the responder and commands that tell owners post mails, with keys")
    }
    return keys
  }

  /// The ids of mails that are due, the longest waiting first: more than there are passes at once.
  fileprivate func due() throws(DatabaseError) -> [String] {
    try transaction.connection.rows(
      """
      SELECT id FROM outbox
      WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND expires_at > UTC_TIMESTAMP(3)
      ORDER BY due_at LIMIT 50
      """
    ) { row in row.text(0) }
  }

  /// The mail, with the attempt that the claim adds; nil if it is no longer due or another transaction holds it.
  fileprivate func lock(
    _ id: String, as claimID: String
  ) throws(DatabaseError) -> ClaimedMail? {
    try transaction.connection.row(
      """
      SELECT id, kind, recipient, sealed, attempts + 1, account_id IS NOT NULL,
        EXISTS (SELECT 1 FROM accounts WHERE email = recipient)
      FROM outbox
      WHERE id = ? AND state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND expires_at > UTC_TIMESTAMP(3)
      FOR UPDATE SKIP LOCKED
      """,
      [.text(id)]
    ) { row in
      let kind = MailKind(rawValue: row.text(1))
      let hasAccount = row.boolean(5)
      let isAddressOfAccount = row.boolean(6)
      return ClaimedMail(
        mail: Mail(id: row.text(0), kind: kind, recipient: row.text(2), sealed: row.text(3)),
        isToAccount: isAddressOfAccount || kind?.mayLeave(accountStays: hasAccount) == true,
        claimID: claimID, attempts: row.integer(4))
    }
  }

  fileprivate func claim(_ mail: ClaimedMail) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE outbox
      SET claim_id = ?, attempts = attempts + 1, due_at = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
      WHERE id = ? AND state = 'open'
      """,
      [.text(mail.claimID), .text(mail.mail.id)]) == 1
  }

  fileprivate func expired() throws(DatabaseError) -> [String] {
    try transaction.connection.rows(
      """
      SELECT id FROM outbox
      WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3) AND expires_at <= UTC_TIMESTAMP(3)
      ORDER BY due_at LIMIT 500
      """
    ) { row in row.text(0) }
  }

  fileprivate func expire(_ id: String) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE outbox
      SET state = 'dead', sealed = NULL, finished_at = UTC_TIMESTAMP(3),
        recipient = IF(kind = 'account_deleted', '', recipient),
        reason = COALESCE(reason, 'expired before it was sent')
      WHERE id = ? AND state = 'open' AND due_at <= UTC_TIMESTAMP(3)
      """,
      [.text(id)]) == 1
  }

  fileprivate func postpone(
    _ claimed: ClaimedMail, reason: String
  ) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE outbox FORCE INDEX (PRIMARY)
      SET due_at = UTC_TIMESTAMP(3) + INTERVAL ? SECOND, reason = ?, claim_id = NULL
      WHERE id = ? AND claim_id = ? AND state = 'open'
      """,
      [
        .integer(min(60, 1 << min(claimed.attempts, 6))), .text(reason.cut(to: 200)),
        .text(claimed.mail.id), .text(claimed.claimID),
      ]) == 1
  }

  fileprivate func close(
    _ claimed: ClaimedMail, as state: String, reason: String?
  ) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE outbox FORCE INDEX (PRIMARY)
      SET state = ?, reason = ?, sealed = NULL, finished_at = UTC_TIMESTAMP(3),
        recipient = IF(kind = 'account_deleted', '', recipient)
      WHERE id = ? AND claim_id = ? AND state = 'open'
      """,
      [
        .text(state), .text(reason?.cut(to: 200)), .text(claimed.mail.id), .text(claimed.claimID),
      ]) == 1
  }
}

extension Transaction {
  var mails: MailStatements { MailStatements(transaction: Transaction(sharing: self)) }
}

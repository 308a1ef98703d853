import Base
import MariaDB

/// A visit of a browser to the account page, named by its cookie.
package struct NewVisit: Sendable {
  /// Lifetime of a cookie.
  package static let lifetime = Duration.seconds(3600)

  /// SHA-256 of the cookie.
  package let id: [UInt8]
  /// The visit of the cookie that the browser showed, if it showed one: it ends.
  package let replaced: [UInt8]?

  package init(id: [UInt8], replacing replaced: [UInt8]?) {
    self.id = id
    self.replaced = replaced
  }
}

/// The cookie and the token that a browser sends with a form.
package struct SentForm: Sendable {
  /// SHA-256 of the cookie.
  package let visit: [UInt8]
  /// SHA-256 of the token in the form.
  package let tokenHash: [UInt8]

  package init(visit: [UInt8], tokenHash: [UInt8]) {
    self.visit = visit
    self.tokenHash = tokenHash
  }
}

/// The reason to reject a form.
package enum FormRefusal: Error {
  /// The form was sent before, or another page has been shown since.
  case stale
  /// The cookie has no sign-in, or has expired.
  case signedOut
  /// The action needs a sign-in of the last ten minutes.
  case noFreshProof
  /// The account does not have the item, or not any more.
  case gone
}

/// The state of a browser's sign-in.
package enum VisitState: Sendable {
  /// A code was mailed, if an account has the address.
  case awaitsCode
  /// A passkey must sign.
  case awaitsPasskey
  case signedIn(AccountOverview)
}

/// An account as its owner sees it.
package struct AccountOverview: Sendable {
  package let profile: Profile
  /// Whether the sign-in was in the last ten minutes.
  package let isFresh: Bool
  /// The id of the caller's browser in `browsers` of ``accountData``.
  package let browserID: String
  package let accountData: [AccountItems]
}

/// Visits as requests use them.
package struct AccountVisits: Sendable {
  let records: Records

  /// The state to show to a browser, with at most 60 items of a kind. The page's forms have the
  /// token with the hash `form`; forms of earlier pages become stale.
  ///
  /// - Parameter challenge: SHA-256 of the challenge on the page, if a passkey must sign.
  /// - Returns: nil if the cookie is unknown or has expired.
  package func show(
    _ visit: [UInt8], form: [UInt8], challenge: [UInt8]
  ) throws -> VisitState? {
    try records.transaction { transaction in
      guard let found = try transaction.visits.find(visit) else { return nil }
      try transaction.visits.setForm(form, of: visit)
      if let account = found.account {
        return .signedIn(
          try transaction.visits.overview(of: account, in: found, visit, limit: 60))
      }
      guard found.hasChallenge else { return .awaitsCode }
      try transaction.visits.setChallenge(challenge, of: visit)
      return .awaitsPasskey
    }
  }

  /// All data of the account that is signed in; nil if none is.
  package func download(_ visit: [UInt8]) throws -> AccountOverview? {
    try records.read { transaction in
      guard let found = try transaction.visits.find(visit), let account = found.account else {
        return nil
      }
      return try transaction.visits.overview(of: account, in: found, visit, limit: 100_000)
    }
  }

  /// Ends a visit, signed in or not.
  ///
  /// - Throws: ``FormRefusal/stale``.
  package func signOut(_ form: SentForm) throws {
    try records.transaction { transaction in
      guard try transaction.visits.spend(form) else { throw FormRefusal.stale }
      try transaction.visits.remove(form.visit)
    }
  }
}

extension Records {
  package var accountVisits: AccountVisits { AccountVisits(records: self) }

  /// Spends a form and runs `body`, in one transaction. If it throws, nothing changes.
  ///
  /// - Throws: ``FormRefusal``, and what `body` throws.
  func answering<T>(
    _ form: SentForm, needsFreshProof: Bool = false,
    _ body: (borrowing Transaction, _ account: String) throws -> T
  ) throws -> T {
    // A visit never changes to another account, so this may be read before the account is locked.
    guard let account = try read({ try $0.visits.find(form.visit)?.account }) else {
      throw FormRefusal.signedOut
    }
    return try transaction { transaction in
      // Locks come before the first read, so that all later reads see current rows. The account
      // comes first, as in every transaction that locks both: deleting it deletes its visits too.
      guard try transaction.accounts.lock(account) else { throw FormRefusal.signedOut }
      let isSpent = try transaction.visits.spend(form)
      guard let visit = try transaction.visits.lock(form.visit) else { throw FormRefusal.signedOut }
      guard isSpent else { throw FormRefusal.stale }
      guard !needsFreshProof || visit.isFresh(at: transaction.now) else {
        throw FormRefusal.noFreshProof
      }
      return try body(transaction, account)
    }
  }
}

/// A visit that has not expired.
struct StoredVisit {
  /// nil before the sign-in.
  let account: String?
  private let provedAt: Timestamp?
  let hasChallenge: Bool

  fileprivate init(row: borrowing Row) {
    account = row.optionalText(0)
    provedAt = row.optionalTimestamp(1)
    hasChallenge = row.boolean(2)
  }

  func isFresh(at now: Timestamp) -> Bool {
    provedAt.map { $0 > now - Session.proofLifetime && $0 <= now + Session.clockTolerance } ?? false
  }
}

/// Statements on `account_visits`.
struct VisitStatements: ~Copyable {
  let transaction: Transaction

  /// - Parameters:
  ///   - account: the account that is signed in; nil before the sign-in.
  ///   - challenge: SHA-256 of a challenge for a passkey; nil for a sign-in by code.
  func insert(
    _ new: NewVisit, account: String? = nil, challenge: [UInt8]? = nil
  ) throws(DatabaseError) {
    if let replaced = new.replaced { try remove(replaced) }
    let now = transaction.now
    _ = try transaction.connection.execute(
      """
      INSERT INTO account_visits (id, account_id, proved_at, challenge_hash, address, expires_at)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .bytes(new.id), .text(account), .time(account == nil ? nil : now),
        challenge.map { .bytes($0) } ?? .null, .text(transaction.origin.storedAddress),
        .time(now + NewVisit.lifetime),
      ])
  }

  func find(_ id: [UInt8]) throws(DatabaseError) -> StoredVisit? {
    try transaction.connection.row(
      """
      SELECT account_id, proved_at, challenge_hash IS NOT NULL FROM account_visits
      WHERE id = ? AND expires_at > ?
      """,
      [.bytes(id), .time(transaction.now)]
    ) { row in StoredVisit(row: row) }
  }

  /// Returns the visit like ``find(_:)``, and keeps it from changing before the transaction's end.
  func lock(_ id: [UInt8]) throws(DatabaseError) -> StoredVisit? {
    try transaction.connection.row(
      """
      SELECT account_id, proved_at, challenge_hash IS NOT NULL FROM account_visits
      WHERE id = ? AND expires_at > ? FOR UPDATE
      """,
      [.bytes(id), .time(transaction.now)]
    ) { row in StoredVisit(row: row) }
  }

  /// - Returns: whether this call is the one that spends the form's token.
  func spend(_ form: SentForm) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      "UPDATE account_visits SET form_hash = NULL WHERE id = ? AND form_hash = ?",
      [.bytes(form.visit), .bytes(form.tokenHash)]) == 1
  }

  /// - Returns: whether this call is the one that spends the challenge of a visit.
  func spendChallenge(_ hash: [UInt8], of id: [UInt8]) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE account_visits SET challenge_hash = REPEAT(X'00', 32)
      WHERE id = ? AND challenge_hash = ? AND account_id IS NULL AND expires_at > ?
      """,
      [.bytes(id), .bytes(hash), .time(transaction.now)]) == 1
  }

  fileprivate func setForm(_ hash: [UInt8], of id: [UInt8]) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE account_visits SET form_hash = ? WHERE id = ?", [.bytes(hash), .bytes(id)])
  }

  func setChallenge(_ hash: [UInt8], of id: [UInt8]) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE account_visits SET challenge_hash = ? WHERE id = ?", [.bytes(hash), .bytes(id)])
  }

  func remove(_ id: [UInt8]) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "DELETE FROM account_visits WHERE id = ?", [.bytes(id)])
  }

  /// Ends the visits of all browsers that are signed in to the account.
  func endAll(of account: String) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "DELETE FROM account_visits WHERE account_id = ?", [.text(account)])
  }

  fileprivate func overview(
    of account: String, in visit: StoredVisit, _ id: [UInt8], limit: Int64
  ) throws -> AccountOverview {
    AccountOverview(
      profile: try transaction.profiles.profile(of: account),
      isFresh: visit.isFresh(at: transaction.now), browserID: browserID(ofVisit: id),
      accountData: try transaction.accountData(of: account, limit: limit))
  }
}

extension Transaction {
  var visits: VisitStatements { VisitStatements(transaction: Transaction(sharing: self)) }
}

import Base
package import Cryptography
import MariaDB

/// Sign-in on the account page: it creates no device and no session.
extension AccountVisits {
  /// Begins a visit and mails a code for it, as ``LoginCodes/start(with:or:on:)`` does.
  ///
  /// - Throws: ``RateLimited``.
  package func begin(
    _ visit: NewVisit, mailing code: NewLoginCode, on device: SigningDevice
  ) throws {
    try records.transaction { transaction in
      try transaction.loginCodes.mail(code, on: device)
      try transaction.visits.insert(visit)
    }
  }

  /// Begins a visit that waits for a passkey.
  ///
  /// - Parameter challenge: SHA-256 of a first challenge; each page that is shown has its own.
  /// - Throws: ``RateLimited`` at more than 20 a minute from one address.
  package func begin(_ visit: NewVisit, challenge: [UInt8]) throws {
    try records.transaction { transaction in
      try transaction.limits.countAddress(.passkeyStarts)
      try transaction.visits.insert(visit, challenge: challenge)
    }
  }

  /// Signs in with a mailed code: `visit` replaces the one that asked for it.
  ///
  /// - Parameter macs: the MACs that the typed code has for an e-mail address, one for each key.
  /// - Throws: ``FormRefusal``; ``Refusal`` and ``RateLimited``, as ``LoginCodes/signIn(with:on:bearer:macs:)`` does.
  /// - Returns: the id of the account; nil if the code is wrong, dead or of no account.
  package func signIn(
    to visit: NewVisit, with name: LoginCodeName, on device: SigningDevice, by form: SentForm,
    macs: (_ email: String) -> [[UInt8]]
  ) throws -> String? {
    try spend(form)
    return try records.loginCodes.redeem(name, on: device, macs: macs) { transaction, account, _ in
      try transaction.addressProofs.record(of: account, on: device, bearer: nil)
      try transaction.visits.signIn(account, to: visit, detail: "account page, code")
      return account.id
    }
  }

  /// Signs in with a passkey that answers the challenge of the page: `visit` replaces the one that
  /// asked. The challenge is spent whatever the outcome.
  ///
  /// - Throws: ``FormRefusal``; ``Refusal/banned(account:)``; ``Refusal/sessionEnded`` if the account is deleted meanwhile.
  /// - Returns: the id of the account; nil if anything about the assertion is wrong, or the account's address is not
  ///   proven.
  package func signIn(
    to visit: NewVisit, with assertion: PasskeyAssertion, challengeHash: [UInt8],
    at party: RelyingParty, by form: SentForm
  ) throws -> String? {
    try spend(form)
    let account = assertion.userHandle.flatMap { accountID(ofUserHandle: $0) }
    let passkey = try records.transaction { transaction -> StoredPasskey? in
      guard try transaction.visits.spendChallenge(challengeHash, of: form.visit), let account
      else { return nil }
      return try transaction.passkeys.find(
        credentialID: assertion.credentialID, ofProven: account)
    }
    let use: PasskeyUse
    do throws(WebAuthnError) {
      use = try party.verify(
        assertion, by: passkey, of: passkey?.accountID, challengeHash: challengeHash)
    } catch {
      try audit(error, of: passkey)
      return nil
    }
    guard let passkey else { return nil }
    return try records.transaction { transaction in
      switch try transaction.passkeys.record(use, of: passkey) {
      case .recorded:
        try transaction.accounts.lockOpen(passkey.accountID)
        guard let account = try transaction.accounts.find(id: passkey.accountID) else {
          return nil
        }
        try transaction.visits.signIn(account, to: visit, detail: "account page, passkey")
        return account.id
      case .cloned:
        try transaction.passkeys.auditRefusal(
          .signCount, in: "account page", account: passkey.accountID, device: nil)
      case .gone: break
      }
      return nil
    }
  }

  private func audit(_ error: WebAuthnError, of passkey: StoredPasskey?) throws {
    guard let passkey else {
      return try records.signIns.auditDead("account page: no such passkey") { _ in [(nil, nil)] }
    }
    try records.transaction { transaction in
      try transaction.passkeys.auditRefusal(
        error, in: "account page", account: passkey.accountID, device: nil)
    }
  }

  /// Spends the form of a visit that is not signed in.
  private func spend(_ form: SentForm) throws {
    try records.transaction { transaction in
      let isSpent = try transaction.visits.spend(form)
      guard let visit = try transaction.visits.lock(form.visit) else {
        throw FormRefusal.signedOut
      }
      guard isSpent, visit.account == nil else { throw FormRefusal.stale }
    }
  }
}

extension VisitStatements {
  /// Makes `visit` the account's, and tells the owner.
  fileprivate func signIn(
    _ account: Account, to visit: NewVisit, detail: String
  ) throws(DatabaseError) {
    try insert(visit, account: account.id)
    try transaction.audit.write(.signIn, account: account.id, detail: detail)
    if try transaction.accounts.isProven(account.id) {
      try transaction.notices.tell(.browserSignedIn, inBrowserOf: account)
    }
  }
}

/// The account whose passkeys have this user handle; nil if the handle is not ours.
private func accountID(ofUserHandle handle: [UInt8]) -> String? {
  handle.count == 16 ? uuid(of: handle[...]) : nil
}

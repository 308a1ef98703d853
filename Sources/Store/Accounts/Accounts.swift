package import Base
import Cryptography
import MariaDB

/// A person, as the apps see one.
package struct Account: Sendable, Equatable {
  package let id: String
  /// Lower-cased.
  package let email: String
  package let name: String
  /// `wsim_` and 12 letters or digits.
  package let walletID: String
}

/// What a person who makes an account gives.
package struct NewAccount: Sendable {
  /// Lower-cased; compared byte by byte.
  package let email: String
  package let name: String
  package let walletID: String

  package init(email: String, name: String, walletID: String) {
    self.email = email
    self.name = name
    self.walletID = walletID
  }
}

package enum NewAccountOutcome: Sendable {
  case signedIn(Account, Session)
  case emailTaken
  /// Five accounts live on the device already.
  case deviceFull
  /// The device is neither registered nor described.
  case deviceUnknown
}

extension Database {
  /// Makes an account and signs it in on the device.
  ///
  /// - Throws: ``Refusal/credential(account:device:)``; ``Refusal/rateLimited(retryAfter:)`` at more
  ///   than 60 an hour on one device.
  package func createAccount(
    _ new: NewAccount, on device: SigningDevice, from origin: Origin, at now: Timestamp
  ) throws -> NewAccountOutcome {
    let account = Account(
      id: timeOrderedUUID(milliseconds: now.milliseconds), email: new.email, name: new.name,
      walletID: new.walletID)
    do {
      return try pool.transaction { connection in
        // First, for it also locks: those who sign up on one device do so one after the other, and
        // each sees the accounts before.
        try connection.count(.signUps, of: device.clientDeviceID, at: now)
        guard try connection.isKnown(device) else { return .deviceUnknown }
        guard try connection.accountCount(onDevice: device.clientDeviceID) < 5 else {
          return .deviceFull
        }
        try connection.insert(account, at: now)
        try connection.audit(.accountCreated, account: account.id, from: origin, at: now)
        let session = try connection.signIn(account.id, on: device, from: origin, at: now)
        return .signedIn(account, session)
      }
    } catch let error as DatabaseError where error.code == .duplicateEntry {
      return .emailTaken
    }
  }

  /// The account of the caller, its cards, its banks.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: nil where the account is gone.
  package func summary(of caller: Caller, at now: Timestamp) throws -> WalletSummary? {
    try pool.read { connection in
      // First: with the account its sessions are gone as well, and that is not the same answer.
      guard let account = try connection.account(id: caller.accountID) else { return nil }
      let session = try connection.live(caller, at: now)
      return WalletSummary(
        account: account, cards: try connection.cards(of: account.id),
        banks: try connection.enrolledBanks(of: account.id),
        biometricEnabled: try connection.hasBiometricKey(session.deviceID))
    }
  }
}

extension Connection {
  /// The account with `email`, lower-cased.
  func account(email: String) throws(DatabaseError) -> Account? {
    try row(
      "SELECT id, email, name, wallet_id FROM accounts WHERE email = ?", [.text(email)]
    ) { row in Account(row: row) }
  }

  func account(id: String) throws(DatabaseError) -> Account? {
    try row(
      "SELECT id, email, name, wallet_id FROM accounts WHERE id = ?", [.text(id)]
    ) { row in Account(row: row) }
  }

  fileprivate func accountCount(
    onDevice clientDeviceID: String
  ) throws(DatabaseError) -> Int64 {
    try row(
      "SELECT COUNT(*) FROM devices WHERE client_device_id = ?", [.text(clientDeviceID)]
    ) { row in row.integer(0) }!  // an aggregate always has a row
  }

  fileprivate func insert(
    _ account: Account, at now: Timestamp
  ) throws(DatabaseError) {
    _ = try execute(
      """
      INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
      VALUES (?, ?, ?, ?, ?, ?)
      """,
      [
        .text(account.id), .text(account.email), .text(account.name), .text(account.email),
        .text(account.walletID), .time(now),
      ])
  }
}

extension Account {
  fileprivate init(row: borrowing Row) {
    id = row.text(0)
    email = row.text(1)
    name = row.text(2)
    walletID = row.text(3)
  }
}

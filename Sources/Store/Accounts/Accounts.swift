import Base
import MariaDB

/// The data of a person who creates an account.
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
  /// Five accounts on the device were already created in the caller's network.
  case deviceFull
  /// The device is neither registered nor described.
  case deviceUnknown
}

/// Accounts as requests use them.
package struct Accounts: Sendable {
  let records: Records

  /// Creates an account, signs it in on the device, and mails the owner of the e-mail address a
  /// question whether the account is wanted. The mail counts as one to an unproven address: who signs
  /// up and deletes the account again and again cannot fill a stranger's mailbox.
  ///
  /// An attempt counts for the network address even if it fails, so that attackers cannot learn
  /// which e-mail addresses have an account.
  ///
  /// A device id is no secret: strangers can sign up with it. So the limits of a device count only
  /// the sign-ups from the caller's network, and a phone that shows the credential of its registration is not
  /// refused because of their accounts.
  ///
  /// - Throws: ``Refusal/credential(account:device:)``; ``RateLimited`` at more than 20 tries an hour
  ///   from one address, or 60 on one device.
  package func create(
    _ new: NewAccount, on device: SigningDevice
  ) throws -> NewAccountOutcome {
    try records.signIns.requireValidCredential(of: device)
    try records.countAddress(.signUpsByAddress)
    do {
      return try records.transaction { transaction in
        // First, because it also locks: sign-ups on one device from one network run one after the
        // other, and each sees the accounts before.
        let network = records.origin.networks[0].subject
        try transaction.limits.count(.signUpsByDevice, of: "\(device.digest) \(network)")
        guard try transaction.signIns.isKnown(device) else { return .deviceUnknown }
        guard
          try transaction.signIns.showsRegistration(device)
            || transaction.accounts.count(on: device.clientDeviceID, from: network) < 5
        else { return .deviceFull }
        let account = try transaction.accounts.insert(new, language: device.language)
        let mayMail = try transaction.codeLimits.admitMail(
          toUnproven: account.email, by: .stranger, isLimited: true)
        try transaction.audit.write(.accountCreated, account: account.id)
        let session = try transaction.signIns.begin(account.id, on: device, by: .signUp)
        try transaction.mails.post(
          .emailConfirmation, to: account.email, of: account.id,
          MailContent(
            secret: transaction.mails.linkToken(for: .confirmation, of: [account.id]),
            language: device.language ?? .english,
            device: try transaction.devices.name(of: session),
            address: records.origin.storedAddress,
            at: records.now),
          isSuppressed: !mayMail, lifetime: Account.unprovenLifetime)
        return .signedIn(account, session)
      }
    } catch let error as DatabaseError where error.code == .duplicateEntry {
      return .emailTaken
    }
  }
}

extension Records {
  package var accounts: Accounts { Accounts(records: self) }
}

/// Statements on `accounts`.
struct AccountStatements: ~Copyable {
  let transaction: Transaction

  /// The account with `email`, lower-cased.
  func find(email: String) throws(DatabaseError) -> Account? {
    try transaction.connection.row(
      "SELECT id, email, name, wallet_id, language FROM accounts WHERE email = ?", [.text(email)]
    ) { row in Account(row: row) }
  }

  /// Whether the account's e-mail address is proven.
  func isProven(_ id: String) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      "SELECT email_verified_at IS NOT NULL FROM accounts WHERE id = ?", [.text(id)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Keeps the account from changing before the transaction's end.
  ///
  /// - Returns: false if it is gone.
  func lock(_ id: String) throws(DatabaseError) -> Bool {
    try transaction.connection.row(
      "SELECT TRUE FROM accounts WHERE id = ? FOR UPDATE", [.text(id)]
    ) { row in row.boolean(0) } ?? false
  }

  /// Keeps the account from changing before the transaction's end, so that no ban comes between it and a sign-in.
  ///
  /// - Returns: whether the account is banned; nil if it is gone.
  func lockForSignIn(_ id: String) throws(DatabaseError) -> Bool? {
    try transaction.connection.row(
      "SELECT banned_at IS NOT NULL FROM accounts WHERE id = ? FOR UPDATE", [.text(id)]
    ) { row in row.boolean(0) }
  }

  /// Keeps the account from changing before the transaction's end, unless it is banned.
  ///
  /// - Throws: ``Refusal/banned(account:)``; ``Refusal/sessionEnded`` if the account is gone.
  func lockOpen(_ id: String) throws {
    guard let isBanned = try lockForSignIn(id) else { throw Refusal.sessionEnded }
    if isBanned { throw Refusal.banned(account: id) }
  }

  func find(id: String) throws(DatabaseError) -> Account? {
    try transaction.connection.row(
      "SELECT id, email, name, wallet_id, language FROM accounts WHERE id = ?", [.text(id)]
    ) { row in Account(row: row) }
  }

  /// The number of accounts on the device that were created in `network`.
  fileprivate func count(
    on clientDeviceID: String, from network: String
  ) throws(DatabaseError) -> Int {
    try transaction.connection.rows(
      """
      SELECT a.created_from FROM devices d JOIN accounts a ON a.id = d.account_id
      WHERE d.client_device_id = ?
      """,
      [.text(clientDeviceID)]
    ) { row in row.text(0) }.filter { callerNetworks(of: $0)[0].subject == network }.count
  }

  fileprivate func insert(
    _ new: NewAccount, language: Language?
  ) throws(DatabaseError) -> Account {
    let account = Account(
      id: transaction.makeID(), email: new.email, name: new.name, walletID: new.walletID,
      language: language)
    _ = try transaction.connection.execute(
      """
      INSERT INTO accounts (id, email, name, username, wallet_id, created_at, created_from, language)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(account.id), .text(account.email), .text(account.name), .text(account.email),
        .text(account.walletID), .time(transaction.now), .text(transaction.origin.storedAddress),
        .text(language?.rawValue),
      ])
    return account
  }
}

extension Transaction {
  var accounts: AccountStatements { AccountStatements(transaction: Transaction(sharing: self)) }
}

import MariaDB

/// An account with the state of its e-mail address.
package struct Profile: Sendable {
  package let account: Account
  /// Whether the e-mail address is proven.
  package let isProven: Bool
  /// The address that the account gets when the link mailed there is used.
  package let pendingEmail: String?
}

/// Profiles as the apps read and change them.
package struct Profiles: Sendable {
  let records: Records

  /// - Throws: ``Refusal``.
  package func profile(of caller: Caller) throws -> Profile {
    try records.read { transaction in
      _ = try transaction.sessions.live(caller)
      return try transaction.profiles.profile(of: caller.accountID)
    }
  }

  /// Changes the name at once, and the address when the mailed link is used. The current address of
  /// the account is no change.
  ///
  /// - Throws: ``Refusal``, also if another address comes without a fresh proof; ``RateLimited``.
  ///   Then nothing is changed.
  /// - Returns: the profile as it is now.
  package func change(
    name: String?, address change: NewAddressChange?, by caller: Caller
  ) throws -> Profile {
    try records.transaction { transaction in
      guard try transaction.accounts.lock(caller.accountID) else { throw Refusal.sessionEnded }
      try transaction.sessions.lock(caller)
      let device = try transaction.sessions.live(caller).deviceID
      let now = try transaction.profiles.profile(of: caller.accountID)
      if let name, name != now.account.name {
        try transaction.profiles.rename(caller.accountID, to: name, by: device)
      }
      if let change {
        if change.email != now.account.email { try transaction.sessions.requireFreshProof(caller) }
        try transaction.addressChanges.begin(
          change, of: now.account, by: (caller.sessionID, device))
      }
      return try transaction.profiles.profile(of: caller.accountID)
    }
  }
}

extension Records {
  package var profiles: Profiles { Profiles(records: self) }
}

/// Statements on the profile of an account.
struct ProfileStatements: ~Copyable {
  let transaction: Transaction

  /// - Throws: ``Refusal/sessionEnded`` if the account is gone.
  func profile(of id: String) throws -> Profile {
    let found = try transaction.connection.row(
      """
      SELECT id, email, name, wallet_id, language, email_verified_at IS NOT NULL FROM accounts
      WHERE id = ?
      """,
      [.text(id)]
    ) { row in (Account(row: row), row.boolean(5)) }
    guard let (account, isProven) = found else { throw Refusal.sessionEnded }
    return Profile(
      account: account, isProven: isProven,
      pendingEmail: try transaction.addressChanges.pending(of: id))
  }

  /// - Parameter device: the id of the device that asks for the change, if a device does.
  func rename(_ account: String, to name: String, by device: String?) throws(DatabaseError) {
    _ = try transaction.connection.execute(
      "UPDATE accounts SET name = ? WHERE id = ?", [.text(name), .text(account)])
    try transaction.audit.write(.profileChanged, account: account, device: device, detail: "name")
  }
}

extension Transaction {
  var profiles: ProfileStatements { ProfileStatements(transaction: Transaction(sharing: self)) }
}

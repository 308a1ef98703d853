import MariaDB

extension Accounts {
  /// Deletes the caller's account with everything that it owns, also its mails that wait, and tells its owner.
  /// Payments stay without the account, and audit rows with an id that names nobody any more.
  ///
  /// - Throws: ``Refusal``, also where the caller shows no fresh proof.
  package func delete(by caller: Caller) throws {
    try records.transaction { transaction in
      // First, as in every transaction that takes both: the account before its sessions.
      _ = try transaction.accounts.lock(caller.accountID)
      try transaction.sessions.lock(caller)
      let session = try transaction.sessions.live(caller)
      try transaction.sessions.requireFreshProof(caller)
      try transaction.accounts.delete(caller.accountID, by: session.deviceID)
    }
  }
}

extension AccountStatements {
  /// Deletes an account, which is locked, with everything that names it, whatever the foreign keys reach.
  func remove(_ id: String) throws(DatabaseError) {
    try transaction.traces.erase(ofAccount: id)
    let tokens = try transaction.traces.tokens(of: id)
    _ = try transaction.connection.execute("DELETE FROM accounts WHERE id = ?", [.text(id)])
    try transaction.traces.eraseHosts(ofTokens: tokens)
  }

  /// - Parameter device: the id of the device that asks for it, if a device does.
  func delete(_ id: String, by device: String?) throws(DatabaseError) {
    guard try lock(id) else { return }
    let account = try isProven(id) ? find(id: id) : nil
    try remove(id)
    try transaction.audit.write(.accountDeleted, account: id, device: device)
    guard let account else { return }
    try transaction.mails.post(
      .accountDeleted, to: account.email, of: nil,
      MailContent(
        secret: "", language: account.language ?? .english, device: "",
        address: transaction.origin.storedAddress, at: transaction.now),
      lifetime: Notice.lifetime)
  }
}

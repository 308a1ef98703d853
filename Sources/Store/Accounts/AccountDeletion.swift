import MariaDB

extension Accounts {
  /// Deletes the caller's account with everything that it owns, also its waiting mails, and tells
  /// its owner. Payments stay without the account, and audit rows with an id that no account has.
  ///
  /// - Throws: ``Refusal``, also if the caller shows no fresh proof.
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
  /// Deletes a locked account with everything that names it, also rows that no foreign key reaches.
  func remove(_ id: String) throws(DatabaseError) {
    try transaction.traces.erase(ofAccount: id)
    let tokens = try transaction.traces.tokens(of: id)
    _ = try transaction.connection.execute("DELETE FROM accounts WHERE id = ?", [.text(id)])
    try transaction.traces.eraseHosts(ofTokens: tokens)
  }

  /// - Parameters:
  ///   - device: the id of the device that asks for the deletion, if a device does.
  ///   - detail: the detail of the audit row.
  /// - Returns: false if the account is gone.
  @discardableResult
  func delete(_ id: String, by device: String?, detail: String? = nil) throws(DatabaseError) -> Bool
  {
    guard try lock(id) else { return false }
    let owner = try owner(of: id)
    try remove(id)
    try transaction.audit.write(.accountDeleted, account: id, device: device, detail: detail)
    if let owner { try transaction.mails.tell(.accountDeleted, owner) }
    return true
  }
}

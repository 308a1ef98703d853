import MariaDB

/// Sign-outs by administrators. They end the same things as a sign-out in the app.
extension Sessions {
  /// Ends the session and all others of its device, and removes the push tokens of that device.
  ///
  /// - Returns: false if no live session has this id.
  package func endByAdministrator(_ id: String) throws -> Bool {
    try records.transaction { transaction in
      let found = try transaction.connection.row(
        """
        SELECT d.id, d.account_id FROM sessions s JOIN devices d ON d.id = s.device_id
        WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? FOR UPDATE
        """,
        [.text(id), .time(transaction.now)]
      ) { row in (device: row.text(0), account: row.text(1)) }
      guard let found else { return false }
      try transaction.sessions.signOut(found.device)
      try transaction.audit.write(
        .logout, account: found.account, device: found.device, detail: "by an administrator")
      return true
    }
  }

  /// Ends all sessions of the account, also those of browsers, and the codes that were mailed to it, and
  /// removes the push tokens of its devices.
  ///
  /// - Returns: the number of devices that may have been signed in.
  @discardableResult
  package func endAll(of account: String) throws -> Int {
    try records.transaction { transaction in
      guard try transaction.accounts.lock(account) else { return 0 }
      let devices = try transaction.devices.lockAll(of: account)
      try transaction.loginCodes.endAll(of: account)
      try transaction.visits.endAll(of: account)
      try transaction.addressChanges.withdraw(of: account)
      for device in devices { try transaction.sessions.signOut(device) }
      try transaction.audit.write(
        .logout, account: account, detail: "all devices, by an administrator")
      return devices.count
    }
  }
}

extension SessionStatements {
  fileprivate func signOut(_ deviceID: String) throws(DatabaseError) {
    try endAll(of: deviceID, because: .administrator)
    try transaction.pushTokens.removeAll(ofSigningOut: deviceID)
  }
}

/// Sessions as requests use them.
package struct Sessions: Sendable {
  let records: Records

  /// Lets the caller in, and does nothing else.
  ///
  /// - Throws: ``Refusal``.
  package func admit(_ caller: Caller) throws {
    try records.read { transaction in _ = try transaction.sessions.live(caller) }
  }

  /// Ends the sessions of the caller's device, or of all of the account's devices. The push tokens
  /// of those devices go too: who has signed out gets no more notifications.
  ///
  /// - Throws: ``Refusal``.
  package func logOut(_ caller: Caller, everywhere: Bool) throws {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let all = everywhere ? try transaction.devices.lockAll(of: caller.accountID) : nil
      let session = try transaction.sessions.live(caller)
      for device in all ?? [session.deviceID] {
        try transaction.sessions.end(of: device, because: everywhere ? .logoutAll : .logout)
        try transaction.pushTokens.removeAll(ofSigningOut: device)
      }
      try transaction.audit.write(
        .logout, account: caller.accountID, device: session.deviceID,
        detail: everywhere ? "all devices" : nil)
    }
  }
}

extension Records {
  package var sessions: Sessions { Sessions(records: self) }
}

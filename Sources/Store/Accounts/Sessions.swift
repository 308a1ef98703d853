/// Sessions as requests use them.
package struct Sessions: Sendable {
  let records: Records

  /// Admits the caller, and does nothing else.
  ///
  /// - Throws: ``Refusal``.
  package func admit(_ caller: Caller) throws {
    try records.read { transaction in _ = try transaction.sessions.live(caller) }
  }

  /// Ends the sessions of the caller's device, or of all of the account's devices. Removes the push
  /// tokens of those devices too, so that they get no more notifications.
  ///
  /// With a fresh proof, signing out everywhere also ends the mailed codes, and removes the keys and
  /// credentials that are not trusted: a thief may have read the mails, and set the keys up with a
  /// stolen bearer. Without one it ends no code: the thief would keep the owner out.
  ///
  /// - Throws: ``Refusal``, also if the caller shows no fresh proof to remove authenticators.
  package func logOut(_ caller: Caller, _ extent: LogoutExtent) throws {
    let everywhere = extent != .device
    try records.transaction { transaction in
      // Before the codes: a sign-in with one locks the account first, too.
      if everywhere { _ = try transaction.accounts.lock(caller.accountID) }
      try transaction.sessions.lock(caller)
      let all = everywhere ? try transaction.devices.lockAll(of: caller.accountID) : nil
      let session = try transaction.sessions.live(caller)
      switch extent {
      case .device: break
      case .account:
        if try transaction.sessions.hasFreshProof(caller) {
          try transaction.loginCodes.endAll(of: caller.accountID)
          try transaction.devices.removeUntrusted(of: caller.accountID)
        }
      case .accountAndAuthenticators:
        try transaction.sessions.requireFreshProof(caller)
        try transaction.loginCodes.endAll(of: caller.accountID)
        if try transaction.devices.hasAuthenticators(caller.accountID) {
          try transaction.notices.tell(.allKeysRemoved, of: caller.sessionID)
        }
        try transaction.devices.removeAuthenticators(of: caller.accountID, on: all ?? [])
      }
      if everywhere {
        try transaction.visits.endAll(of: caller.accountID)
        try transaction.addressChanges.withdraw(of: caller.accountID)
      }
      for device in all ?? [session.deviceID] {
        try transaction.sessions.endAll(of: device, because: everywhere ? .logoutAll : .logout)
        try transaction.pushTokens.removeAll(ofSigningOut: device)
      }
      try transaction.audit.write(
        .logout, account: caller.accountID, device: session.deviceID,
        detail: extent.detail)
    }
  }
}

/// The extent of a logout.
package enum LogoutExtent: Sendable {
  /// The sessions of the device.
  case device
  /// The sessions of all devices.
  case account
  /// The same; also removes all passkeys, biometric and attested keys and device credentials.
  case accountAndAuthenticators

  fileprivate var detail: String? {
    switch self {
    case .device: nil
    case .account: "all devices"
    case .accountAndAuthenticators: "all devices and authenticators"
    }
  }
}

extension Records {
  package var sessions: Sessions { Sessions(records: self) }
}

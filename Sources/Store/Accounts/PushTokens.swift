/// Push tokens as requests use them.
package struct PushTokens: Sendable {
  let records: Records

  /// Makes `token` the only push token of the caller's device.
  ///
  /// - Parameter platform: nil means the device's own.
  /// - Throws: ``Refusal``; ``RateLimited`` at more than 300 an hour of one account.
  package func set(_ token: PushToken, platform: PushPlatform?, by caller: Caller) throws {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let device = try transaction.sessions.live(caller).deviceID
      try transaction.limits.count(.pushTokens, of: caller.accountID)
      let platform = try platform ?? PushPlatform(transaction.devices.platform(of: device))
      try transaction.pushTokens.removeAll(of: device, except: token)
      try transaction.pushTokens.store(token, platform: platform, of: device)
      try transaction.audit.write(.pushTokenSet, account: caller.accountID, device: device)
    }
  }

  /// Removes the push tokens of a device of the caller's account.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: false if the account has no such device.
  package func clear(ofDevice clientDeviceID: String, by caller: Caller) throws -> Bool {
    try records.transaction { transaction in
      try transaction.sessions.lock(caller)
      let locked = try transaction.devices.lock(clientDeviceID, of: caller.accountID)
      _ = try transaction.sessions.live(caller)
      guard let device = locked else { return false }
      try transaction.pushTokens.removeAll(of: device)
      try transaction.audit.write(.pushTokenRemoved, account: caller.accountID, device: device)
      return true
    }
  }
}

extension Records {
  package var pushTokens: PushTokens { PushTokens(records: self) }
}

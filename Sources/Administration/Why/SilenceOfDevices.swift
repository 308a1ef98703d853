import Base
import Store

/// Explanations of accounts, devices and tokens.
extension SilenceReport {
  /// - Returns: true if an account has this e-mail address.
  func explainAccount(_ email: String, in explanation: inout Explanation) throws -> Bool {
    guard let account = try records.accounts.find(email) else { return false }
    explanation.note(
      "account", "The account of \(account.email) was made on \(account.createdAt.rfc3339).")
    let devices = try records.accounts.devices(of: account.id, limit: Self.most).rows
      .filter { $0.revokedAt == nil }
    let tokens = try records.pushTokens.list(of: account.id, limit: Self.most)
    if devices.isEmpty {
      explanation.blame(
        "no_device", "The account has no device. Its owner must sign in on the phone.")
    } else if tokens.isEmpty {
      explanation.blame(
        "no_token",
        "None of the account's devices (\(devices.count)) has a push token: the owner signed out, or does not allow "
          + "notifications, or the push service called the token dead. Open the app on the phone, sign in, and allow notifications."
      )
    }
    for token in tokens { try explain(token, in: &explanation) }
    try explainDeliveries(
      records.deliveries.list(ofAccount: account.id, limit: Self.mostDeliveries), of: account.email,
      in: &explanation)
    for limit in try records.pushTokens.limitsUsedUp(by: account.id) {
      blame(limit, in: &explanation)
    }
    return true
  }

  /// Explains all tokens that begin with `prefix`.
  ///
  /// - Returns: true if there are any.
  /// - Throws: ``BadArguments`` if there are too many.
  func explainTokens(_ prefix: String, in explanation: inout Explanation) throws -> Bool {
    let limit = Self.most + 1
    let owned = try records.pushTokens.find(beginning: prefix, limit: limit)
    let registered = try records.turnRegistrations.find(beginning: prefix, limit: limit)
    let dead = try records.deliveries.removedTokens(beginning: prefix, limit: limit)
    let tokens = Set(owned.map(\.token) + registered.map(\.token) + dead.map(\.token)).sorted()
    guard tokens.count <= Self.most, registered.count <= Self.most else {
      throw BadArguments("Many tokens begin with \(prefix). Give more digits.")
    }
    for token in tokens {
      for owner in owned where owner.token == token {
        try explain(owner, in: &explanation)
        try explainDeliveries(
          records.deliveries.list(ofAccount: owner.accountID, limit: Self.mostDeliveries)
            .filter { $0.token == token }, of: owner.email, in: &explanation)
      }
      for registration in registered where registration.token == token {
        _ = try explainUser(registration.userID, onlyOn: token, in: &explanation)
      }
      let lastRegistered =
        (owned.filter { $0.token == token }.map(\.registeredAt)
        + registered.filter { $0.token == token }.map(\.registeredAt)).max()
      for removed in dead where removed.token == token {
        explain(removed, registeredAt: lastRegistered, in: &explanation)
      }
    }
    return !tokens.isEmpty
  }

  private func explain(
    _ token: RemovedToken, registeredAt: Timestamp?, in explanation: inout Explanation
  ) {
    let fact =
      "The push service called the token \(token.token.tokenPreview) dead, and it was removed on "
      + "\(token.removedAt.rfc3339)"
    if let registeredAt {
      explanation.note(
        "token_was_dead", "\(fact). The app registered it on \(registeredAt.rfc3339).")
    } else {
      explanation.blame(
        "token_dead",
        "\(fact): the app was deleted, or has another token now. Open the app on the phone, so that it registers again."
      )
    }
  }

  private func explain(_ token: PushTokenRecord, in explanation: inout Explanation) throws {
    let name = token.token.tokenPreview
    explanation.note(
      "token",
      "The token \(name) belongs to the device \(token.deviceID) (\(token.platform.rawValue)) of \(token.email), since "
        + "\(token.registeredAt.rfc3339).")
    explanation.platforms.insert(token.platform)
    if !token.takesPushes {
      explanation.blame(
        "pushes_off",
        "Pushes are switched off in the preferences of the device \(token.deviceID). Its owner can switch them on in the app."
      )
    }
    for registration in try records.turnRegistrations.find(beginning: token.token, limit: Self.most)
    where registration.token == token.token {
      explanation.note(
        "also_turns",
        "The same token is registered for the turns of user \(registration.userID) of online-go.com: ask for that user, too."
      )
    }
  }

  func blame(_ limit: CountedLimit, in explanation: inout Explanation) {
    explanation.blame(
      "limit_used_up",
      "The limit \(limit.name) of \(limit.subject.printable) is used up until \(limit.freeAt.rfc3339): the app is refused "
        + "until then. Lift it: switchboard limits lift \(limit.name) \(limit.subject.printable)")
  }
}

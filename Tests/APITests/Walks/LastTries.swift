@testable import API

/// The actor's requests, with every known value, after the owner's action.
enum LastTries {
  fileprivate typealias Item = WalkCall.Item

  /// Uses every token and credential, and asks for challenges.
  static func calls(of known: KnownValues, at site: WalkSite) -> [WalkCall] {
    var calls: [WalkCall] = []
    for token in foreign("accessToken", known, site) {
      var look = WalkCall(method: "GET", path: "/api/mobile/profile")
      look.fields = [Item(name: "Authorization", value: token)]
      var rename = WalkCall(method: "PUT", path: "/api/mobile/profile")
      rename.fields = look.fields
      rename.members = [Item(name: "name", value: .text(ValueNames.thiefName))]
      calls += [look, rename]
    }
    for token in foreign("refreshToken", known, site) {
      var refresh = WalkCall(method: "POST", path: AccountPath.refresh)
      refresh.members = [Item(name: "refreshToken", value: token)]
      calls.append(refresh)
    }
    for cookie in newest("Cookie", known) {
      var page = WalkCall(method: "GET", path: "/account")
      page.fields = [Item(name: "Cookie", value: cookie)]
      calls.append(page)
    }
    for device in devices(known, site) {
      for credential in newest("deviceCredential", known, 2) {
        var register = registration(of: device)
        register.fields = [Item(name: "X-Device-Credential", value: credential)]
        calls.append(register)
      }
      var ask = WalkCall(method: "POST", path: AccountPath.challenge)
      ask.members = [Item(name: "deviceId", value: device)]
      calls.append(ask)
    }
    return calls
  }

  /// Answers the challenges.
  static func answers(to known: KnownValues, at site: WalkSite) -> [WalkCall] {
    devices(known, site).flatMap { device in
      newest("challenge", known, 2).map { challenge in
        var verify = WalkCall(method: "POST", path: AccountPath.biometricVerify)
        verify.members = [
          Item(name: "deviceId", value: device), Item(name: "challenge", value: challenge),
          Item(name: "signature", value: .signature(challenge)),
        ]
        return verify
      }
    }
  }

  private static func registration(of device: ValueSource) -> WalkCall {
    var register = WalkCall(method: "POST", path: AccountPath.registerDevice)
    register.members = [
      Item(name: "deviceId", value: device),
      Item(name: "deviceName", value: .text(ValueNames.thiefName)),
      Item(name: "platform", value: .text("ios")),
      Item(name: "pushToken", value: .text(ValueNames.thiefPushToken)),
    ]
    return register
  }

  private static func newest(
    _ kind: String, _ known: KnownValues, _ count: Int = 4
  ) -> [ValueSource] {
    (known.sources[kind] ?? []).suffix(count).reversed()
  }

  /// The newest tokens of the attacked account.
  private static func foreign(
    _ kind: String, _ known: KnownValues, _ site: WalkSite
  ) -> [ValueSource] {
    Array(
      (known.sources[kind] ?? []).reversed().lazy.filter {
        tokenClaims(known.value($0)?.text ?? "")["sub"] as? String == site.target.accountID
      }.prefix(4))
  }

  /// Devices of the attacked account.
  private static func devices(_ known: KnownValues, _ site: WalkSite) -> [ValueSource] {
    let own = site.watch.rows(of: "devices").filter { $0["account_id"] == site.target.accountID }
      .compactMap { $0["client_device_id"] }
    return (known.sources["deviceId"] ?? []).filter { own.contains(known.value($0)?.text ?? "") }
  }
}

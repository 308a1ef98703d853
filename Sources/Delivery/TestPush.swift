import Base
package import Store

/// What became of a test notification to one device.
package struct TestPushResult: Sendable {
  package let isAccepted: Bool
  package let token: String
  /// HTTP status of Apple; 0 where Apple has not answered or was not asked.
  package let status: Int64
  /// Apple's word or ours; nil where there is none.
  package let reason: String?
  /// A whole sentence
  package let sentence: String
}

extension Companion {
  /// The devices to which a test goes.
  ///
  /// - Parameter addressee: an e-mail address or a push token.
  /// - Returns: none where the account has no push token; nil where `addressee` is neither.
  package func testTargets(of addressee: String) throws -> [PushTest.Target]? {
    let tokens = database.records(at: .now(), from: .companion).pushTokens
    if addressee.contains("@") { return try tokens.targets(ofEmail: addressee.lowercased()) }
    return try PushToken(addressee).map { [try tokens.target($0)] }
  }

  /// Where a test to `target` would go, in a whole sentence.
  package func describeTestPush(to target: PushTest.Target) throws -> String {
    let platform = PushPlatform(rawValue: target.platform)
    let sender = senders.first { platform.map($0.channel.platforms.contains) == true }
    guard let channel = sender?.channel else {
      return
        "\(target.shortToken) would get nothing: no way to send to \(target.platform) is configured."
    }
    let address = PushAddress(target.token, by: channel.name, bundleID: target.bundleID)
    let route = try channel.routes([address])[target.token]
    return "\(target.shortToken) would get the notification by \(channel.describe(route))."
  }

  /// Sends a notification to each target now, and removes the tokens that Apple or Google calls dead.
  package func testPush(to targets: [PushTest.Target]) throws -> [TestPushResult] {
    defer { closeConnections() }
    let alert = JSONWriter.object { json in
      json.member("title", settings.senderName)
      json.member("body", "This is a test. Notifications from this site arrive.")
    }
    let aps = JSONWriter.object { json in
      json.member("alert", json: alert)
      json.member("sound", "default")
    }
    let payload = JSONWriter.object { json in json.member("aps", json: aps) }
    let sender = PushTestSender(
      database: database, channels: senders.map(\.channel), missing: settings.missingForPushes)
    let outcome = try sender.run(PushTest(tokens: targets, payload: payload))
    guard outcome.missing.isEmpty else {
      let missing = outcome.missing.joined(separator: " ")
      return targets.map {
        TestPushResult(
          isAccepted: false, token: $0.token, status: 0, reason: "NotConfigured",
          sentence: "\($0.shortToken) got nothing: set \(missing).")
      }
    }
    return zip(targets, outcome.results).map { target, result in
      let isAndroid = target.platform == PushPlatform.android.rawValue
      let words = isAndroid ? androidExplanation(of: result) : explanation(of: result)
      return TestPushResult(
        isAccepted: result.ok, token: result.token, status: result.status, reason: result.reason,
        sentence: "\(shortened(result.token)) \(words)")
    }
  }
}

extension PushTest.Target {
  package var shortToken: String { shortened(token) }
}

/// As much of a token as tells it from others: whoever has all of it can be sent to.
private func shortened(_ token: String) -> String { "Device \(token.prefix(16))…" }

private func androidExplanation(of result: PushTestOutcome.TokenResult) -> String {
  if result.ok { return "will get it: Google accepted the notification." }
  switch result.reason {
  case "PushDisabled", "UnsupportedPlatform": return explanation(of: result)
  case "NoAccessToken":
    return "got nothing: Google gives us no access token. Run switchboard check."
  case let reason where result.status == 0:
    return
      "got nothing: Google did not answer (\(reason ?? "no reason")). Check the way to fcm.googleapis.com, port 443."
  case let reason:
    return
      "got nothing: Google answered \(result.status) \(reason ?? "without a reason"). \(advice(onStatus: result.status, reason ?? ""))"
  }
}

private func explanation(of result: PushTestOutcome.TokenResult) -> String {
  if result.ok { return "will get it: Apple accepted the notification." }
  switch result.reason {
  case "PushDisabled":
    return "got nothing: its preferences switch pushes off. Name its token to test it."
  case "UnsupportedPlatform": return "got nothing: no way to send to its platform is configured."
  case "BadDeviceToken", "DeviceTokenNotForTopic":
    return
      "got nothing: Apple does not know its token for this app and host. Check APNS_BUNDLE_ID and APNS_USE_SANDBOX."
  case "Unregistered", "ExpiredToken":
    return "got nothing: Apple says that the app was removed from it. Its token was removed here."
  case "InvalidProviderToken", "ExpiredProviderToken", "MissingProviderToken":
    return
      "got nothing: Apple refuses our key. Check APNS_KEY_ID, APNS_TEAM_ID and APNS_PRIVATE_KEY, and the clock."
  case "TopicDisallowed", "BadTopic":
    return
      "got nothing: Apple does not let our key send to this app. Check APNS_BUNDLE_ID and the key."
  case "TooManyRequests": return "got nothing: Apple was asked too often for it. Try again later."
  case let reason where result.status == 0:
    return
      "got nothing: Apple did not answer (\(reason ?? "no reason")). Check the way to api.push.apple.com, port 443."
  case let reason:
    return "got nothing: Apple answered \(result.status) \(reason ?? "without a reason")."
  }
}

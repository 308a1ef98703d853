import Base
package import Delivery
package import Store

/// Result of a test notification to one device.
package struct TestPushResult: Sendable {
  package let isAccepted: Bool
  package let token: String
  /// HTTP status of the push service; 0 if it did not answer or was not asked.
  package let status: Int64
  /// Reason given by the push service or by us; nil if there is none.
  package let reason: String?
  /// Result in a whole sentence.
  package let sentence: String
}

extension Companion {
  /// The devices that get a test.
  ///
  /// - Parameter addressee: an e-mail address or a push token.
  /// - Returns: an empty array if the account has no push token; nil if `addressee` is neither an
  ///   address nor a token.
  package func testTargets(of addressee: String) throws -> [PushTarget]? {
    let tokens = database.records(at: .now(), from: .companion).pushTokens
    if addressee.contains("@") { return try tokens.targets(ofEmail: addressee.lowercased()) }
    return try PushToken(addressee).map { [try tokens.target($0)] }
  }

  /// Describes in a sentence where a test to `target` would be sent.
  package func describeTestPush(to target: PushTarget) throws -> String {
    guard let channel = channel(to: target) else {
      return
        "\(target.shortToken) would get nothing: no way to send to \(target.platform.rawValue) is configured."
    }
    let address = PushAddress(target.token, by: channel.name, bundleID: target.bundleID)
    let route = try channel.routes([address])[target.token]
    return "\(target.shortToken) would get the notification by \(channel.describe(route))."
  }

  private func channel(to target: PushTarget) -> DeliveryChannel? {
    channels.first { $0.platforms.contains(target.platform) }
  }

  /// Sends a notification to each target now, and removes the tokens that a push service calls
  /// dead.
  package func testPush(to targets: [PushTarget]) throws -> [TestPushResult] {
    let content = NotificationContent(
      title: settings.senderName, body: "This is a test. Notifications from this site arrive.",
      sound: "default")
    let served = targets.filter { channel(to: $0) != nil }
    let outcome = try sendNow(content, to: served)
    let told = zip(served, outcome.results).map { target, result in
      let service = PushService(behind: channel(to: target)!.name)
      let words = service.explanation(of: result)
      return TestPushResult(
        isAccepted: result.ok, token: result.token, status: result.status, reason: result.reason,
        sentence: "\(shortened(result.token)) \(words)")
    }
    let results = Dictionary(told.map { ($0.token, $0) }) { first, _ in first }
    return targets.map { results[$0.token] ?? notConfigured($0) }
  }

  private func notConfigured(_ target: PushTarget) -> TestPushResult {
    let channel: Channel =
      switch target.platform {
      case .android: .fcm
      case .web: .webPush
      default: .apns
      }
    let missing = settings.missing(for: channel)
    return TestPushResult(
      isAccepted: false, token: target.token, status: 0, reason: "NotConfigured",
      sentence: "\(target.shortToken) got nothing: set \(missing.joined(separator: " ")).")
  }
}

extension PushTarget {
  package var shortToken: String { shortened(token) }
}

/// Start of a token, enough to identify it. The whole token is secret, because with it
/// notifications can be sent.
private func shortened(_ token: String) -> String { "Device \(token.prefix(16))…" }

extension PushService {
  /// Result of a test, as the end of a sentence that begins with the device.
  func explanation(of result: DemoPushOutcome.TokenResult) -> String {
    if result.ok { return "will get it: \(name) accepted the notification." }
    let reason = result.reason ?? "without a reason"
    switch reason {
    case "PushDisabled":
      return "got nothing: its preferences switch pushes off. Name its token to test it."
    case "NoAccessToken":
      return "got nothing: \(name) gives us no access token. Run switchboard check."
    case _ where result.status == 0:
      return "got nothing: \(name) did not answer (\(reason)). Check the way to \(host), port 443."
    default:
      return
        "got nothing: \(name) answered \(result.status) \(reason). \(advice(onStatus: result.status, reason))"
    }
  }
}

import Base
package import Cryptography
package import Store

/// A way to APNs for the notifications that one request waits for.
package struct PushGateway: Sendable {
  /// The app's bundle identifier.
  let topic: String
  /// Requests in flight at most.
  let concurrency: Int
  let send: @Sendable ([APNsNotification]) -> [String: APNsOutcome]

  /// - Parameter send: sends all, and says by `apns-id` what became of each; of what it says nothing
  ///   was not sent.
  package init(
    topic: String, concurrency: Int,
    send: @escaping @Sendable ([APNsNotification]) -> [String: APNsOutcome]
  ) {
    self.topic = topic
    self.concurrency = concurrency
    self.send = send
  }
}

extension Companion {
  /// Sends the notification to every device to which one may be sent, and removes the tokens that
  /// are dead.
  func testPush(_ test: PushTest) throws -> PushTestOutcome {
    guard let pushGateway else { return PushTestOutcome(missing: settings.missingForPushes) }
    let payload = Array(test.payload.utf8)
    let plans = test.tokens.map { Plan(for: $0, payload: payload, topic: pushGateway.topic) }
    let notifications = plans.compactMap(\.notification)
    let outcomes = notifications.isEmpty ? [:] : pushGateway.send(notifications)
    var results: [PushTestOutcome.Result] = []
    var removed = 0
    for (target, plan) in zip(test.tokens, plans) {
      switch plan {
      case .refuse(let reason):
        results.append(PushTestOutcome.Result(target, reason: reason))
      case .send(let notification):
        let outcome = outcomes[notification.id] ?? .notProcessed
        results.append(PushTestOutcome.Result(target, outcome, id: notification.id))
        if let instant = outcome.endOfLife(of: target),
          try database.removePushToken(target.token, registeredBefore: instant)
        {
          removed += 1
        }
      }
    }
    return PushTestOutcome(
      concurrency: pushGateway.concurrency, staleTokensRemoved: removed, results: results)
  }
}

/// What to do about one target of a test.
private enum Plan {
  case send(APNsNotification)
  /// Apple is not asked, for this reason.
  case refuse(String)

  init(for target: PushTest.Target, payload: [UInt8], topic: String) {
    guard target.platform != DevicePlatform.android.rawValue else {
      self = .refuse("UnsupportedPlatform")
      return
    }
    guard target.isEnabled else {
      self = .refuse("PushDisabled")
      return
    }
    let id = timeOrderedUUID(milliseconds: Timestamp.now().milliseconds)
    let notification = PushToken(target.token).flatMap {
      APNsNotification(id: id, token: $0, topic: topic, payload: payload)
    }
    // The database takes no malformed token, so what is wrong is the size.
    self = notification.map { .send($0) } ?? .refuse("PayloadTooLarge")
  }

  var notification: APNsNotification? {
    if case .send(let notification) = self { notification } else { nil }
  }
}

extension APNsOutcome {
  /// Registrations of the token before this instant are dead; nil where the token may live.
  fileprivate func endOfLife(of target: PushTest.Target) -> Timestamp? {
    switch self {
    case .unregistered(_, let since): since
    case .rejected(_, .badDeviceToken), .rejected(_, .deviceTokenNotForTopic):
      // Of the registration that was tried; a later one is another matter.
      Timestamp(milliseconds: target.registeredAt) + .milliseconds(1)
    default: nil
    }
  }
}

extension PushTestOutcome.Result {
  /// Apple was not asked.
  fileprivate init(_ target: PushTest.Target, reason: String) {
    self.init(ok: false, status: 0, token: target.token, apnsId: nil, reason: reason)
  }

  fileprivate init(_ target: PushTest.Target, _ outcome: APNsOutcome, id: String) {
    let (status, apnsID, reason): (Int, String?, String?) =
      switch outcome {
      case .accepted(let apnsID): (200, apnsID, nil)
      case .rejected(let status, let reason): (status, id, reason.rawValue)
      case .unregistered(let reason, _): (410, id, reason.rawValue)
      case .unanswered: (0, id, "NoAnswer")
      case .notProcessed: (0, nil, "NotSent")
      }
    let isAccepted = if case .accepted = outcome { true } else { false }
    self.init(
      ok: isAccepted, status: Int64(status), token: target.token, apnsId: apnsID,
      reason: reason?.isEmpty == true ? nil : reason)
  }
}

extension PushGateway {
  /// The way to Apple: a connection of its own for each test, with a window of its own.
  package init(_ apns: APNsSettings, _ database: Database, sealingKeys: Keyring) {
    var limits = APNsClient.Limits()
    limits.engine.window = apns.testConcurrency
    limits.connecting = .seconds(3)
    let client = apns.client(database, sealingKeys: sealingKeys, limits: limits)
    self.init(topic: apns.topic, concurrency: apns.testConcurrency) { notifications in
      var waiting = notifications[...]
      var outcomes: [String: APNsOutcome] = [:]
      // Below the ten seconds that the request waits.
      _ = client.run(until: .now + .seconds(5)) { count in
        defer { waiting = waiting.dropFirst(count) }
        return Array(waiting.prefix(count))
      } report: { notification, outcome in
        outcomes[notification.id] = outcome
      }
      client.hangUp()
      return outcomes
    }
  }
}

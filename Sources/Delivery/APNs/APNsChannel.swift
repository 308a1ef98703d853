import Base
package import Store

extension DeliveryChannel {
  /// Apple Push Notification service, for one app.
  ///
  /// - Parameter keys: keys that seal the provider token, which all processes share.
  package static func apns(
    _ settings: APNsSettings, _ database: Database, sealingKeys keys: CompanionKeys,
    limits: APNsClient.Limits = APNsClient.Limits(), clock: LimitClock = .system
  ) -> DeliveryChannel {
    apns([settings], database, sealingKeys: keys, limits: limits, clock: clock)
  }

  /// Apple Push Notification service, for several apps.
  ///
  /// - Parameters:
  ///   - family: at least one app; the first gets the tokens without a bundle id.
  ///   - keys: keys that seal the provider tokens, which all processes share.
  package static func apns(
    _ family: [APNsSettings], _ database: Database, sealingKeys keys: CompanionKeys,
    limits: APNsClient.Limits = APNsClient.Limits(), clock: LimitClock = .system
  ) -> DeliveryChannel {
    let apps = APNsApps(
      all: family.map { APNsApp($0, database, sealingKeys: keys, limits: limits, clock: clock) },
      clock: clock)
    let direct = APNsApps(directly: family, database, sealingKeys: keys, clock: clock)
    return DeliveryChannel(
      name: .apns, platforms: [.ios, .macos],
      routes: { try apps.findRoutes(to: $0) },
      beginRun: { deadline in
        if apps.all.count == 1 { return apps.all[0].channelRun(until: deadline) }
        return APNsAllAppsRun(apps, until: deadline)
      },
      describe: { apps.describe($0) },
      close: { for app in apps.all + direct.all { app.close() } },
      direct: DirectSender(direct))
  }
}

extension DirectSender {
  /// - Parameter send: sends all and returns the outcomes by `apns-id`. A notification without an
  ///   outcome was not sent.
  package init(
    topic: String, concurrency: Int,
    send: @escaping @Sendable ([APNsNotification]) throws -> [String: APNsOutcome]
  ) {
    self.init(concurrency: concurrency) { messages in
      var results: [String: DirectResult] = [:]
      var notifications: [APNsNotification] = []
      for message in messages {
        let notification = APNsNotification(
          id: message.id, token: message.token, topic: topic, payload: message.content.apnsPayload)
        if let notification {
          notifications.append(notification)
        } else {
          // The token is well-formed, so the payload is too large.
          results[message.id] = DirectResult(
            isAccepted: false, status: 0, serviceID: nil, reason: "PayloadTooLarge")
        }
      }
      let outcomes = try notifications.isEmpty ? [:] : send(notifications)
      for message in messages where results[message.id] == nil {
        results[message.id] = DirectResult(outcomes[message.id] ?? .notProcessed, of: message)
      }
      return results
    }
  }
}

extension DirectResult {
  fileprivate init(_ outcome: APNsOutcome, of message: DirectMessage) {
    let deadBefore: Timestamp? =
      switch outcome {
      case .unregistered(_, let since): since
      case .rejected(_, .badDeviceToken), .rejected(_, .deviceTokenNotForTopic):
        // Only the registration that was tried is dead; a later one may be valid.
        message.registeredAt + .milliseconds(1)
      default: nil
      }
    let (status, apnsID, reason): (Int, String?, String?) =
      switch outcome {
      case .accepted(let apnsID): (200, apnsID, nil)
      case .rejected(let status, let reason): (status, message.id, reason.rawValue)
      case .unregistered(let reason, _): (410, message.id, reason.rawValue)
      case .unanswered: (0, message.id, "NoAnswer")
      case .notProcessed: (0, nil, "NotSent")
      }
    let isAccepted = if case .accepted = outcome { true } else { false }
    self.init(
      isAccepted: isAccepted, status: Int64(status), serviceID: apnsID,
      reason: reason?.isEmpty == true ? nil : reason, deadBefore: deadBefore)
  }
}

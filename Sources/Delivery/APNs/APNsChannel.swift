import Base
package import Store

extension DeliveryChannel {
  /// Apple Push Notification service.
  ///
  /// - Parameter keys: seal the provider token that all processes share.
  package static func apns(
    _ settings: APNsSettings, _ database: Database, sealingKeys keys: CompanionKeys,
    limits: APNsClient.Limits = APNsClient.Limits()
  ) -> DeliveryChannel {
    let hosts = APNsChannelRun.Hosts(
      first: settings.client(database, sealingKeys: keys, limits: limits),
      other: settings.otherEndpoint.map {
        settings.client(database, sealingKeys: keys, limits: limits, at: $0)
      })
    let topic = settings.topic
    let other = settings.environment.other
    @Sendable func apnsHosts() -> APNsHosts {
      database.records(at: .now(), from: .companion).apnsHosts
    }
    return DeliveryChannel(
      name: .apns, platforms: [.ios, .macos],
      routes: { tokens in
        try apnsHosts().environments(of: tokens, topic: topic).mapValues(\.rawValue)
      },
      beginRun: { deadline in
        APNsChannelRun(settings, hosts, until: deadline) { token in
          try apnsHosts().learn(other, topic: topic, ofToken: token)
        }
      },
      describe: { route in
        let endpoint = route == other.rawValue ? settings.otherEndpoint : nil
        return "\(endpoint ?? settings.endpoint)  \(topic)"
      },
      close: {
        hosts.first.close()
        hosts.other?.close()
      },
      direct: DirectSender(settings, database, sealingKeys: keys))
  }
}

extension DirectSender {
  /// Sends to Apple, over a connection of its own for each call.
  package init(_ settings: APNsSettings, _ database: Database, sealingKeys: CompanionKeys) {
    var limits = APNsClient.Limits()
    limits.engine.window = settings.testConcurrency
    limits.connecting = .seconds(3)
    let client = settings.client(database, sealingKeys: sealingKeys, limits: limits)
    self.init(topic: settings.topic, concurrency: settings.testConcurrency) { notifications in
      var waiting = notifications[...]
      var outcomes: [String: APNsOutcome] = [:]
      // Below the ten seconds that the request waits.
      _ = client.run(until: .now + .seconds(5)) { count in
        defer { waiting = waiting.dropFirst(count) }
        return Array(waiting.prefix(count))
      } report: { notification, outcome in
        outcomes[notification.id] = outcome
      }
      client.close()
      return outcomes
    }
  }

  /// - Parameter send: sends all, and says by `apns-id` what became of each; of what it says nothing
  ///   was not sent.
  package init(
    topic: String, concurrency: Int,
    send: @escaping @Sendable ([APNsNotification]) -> [String: APNsOutcome]
  ) {
    self.init(concurrency: concurrency) { messages in
      var results: [String: DirectResult] = [:]
      var notifications: [APNsNotification] = []
      for message in messages {
        let notification = APNsNotification(
          id: message.id, token: message.token, topic: topic, payload: message.payload)
        if let notification {
          notifications.append(notification)
        } else {
          // The token is well-formed, so it is the size.
          results[message.id] = DirectResult(
            isAccepted: false, status: 0, serviceID: nil, reason: "PayloadTooLarge")
        }
      }
      let outcomes = notifications.isEmpty ? [:] : send(notifications)
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
        // Of the registration that was tried; a later one is another matter.
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

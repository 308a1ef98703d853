import Base
package import Store

extension DeliveryChannel {
  /// Firebase Cloud Messaging, for Android.
  ///
  /// - Parameters:
  ///   - keys: keys that seal the access token, which all processes share.
  ///   - answerLimit: time limit for one request; less than the companion's time to stop.
  package static func fcm(
    _ settings: FCMSettings, _ database: Database, sealingKeys keys: CompanionKeys,
    answerLimit: Duration = .seconds(7), clock: LimitClock = .system
  ) -> DeliveryChannel {
    let tokens = GoogleTokens(
      database: database, settings: settings, sealingKeys: keys, clock: clock)
    let client = FCMClient(settings, tokens, answerLimit: answerLimit, clock: clock)
    return DeliveryChannel(
      name: .fcm, platforms: [.android],
      beginRun: { deadline in
        FCMRun(client, until: deadline, refusedTokens: RefusedTokens(database))
      },
      describe: { _ in "\(settings.endpoint)  \(settings.project)" },
      close: { client.close() },
      direct: DirectSender(
        through: FCMClient(settings, tokens, answerLimit: answerLimit, clock: clock)))
  }
}

extension DirectSender {
  fileprivate init(through client: FCMClient) {
    self.init(concurrency: FCMClient.concurrency) { messages in
      defer { client.close() }
      // Shorter than the ten seconds that the request waits.
      let deadline = client.clock.now() + .seconds(5)
      var results: [String: DirectResult] = [:]
      var waiting = messages[...]
      while !waiting.isEmpty, client.clock.now() < deadline {
        let taken = waiting.prefix(FCMClient.concurrency)
        waiting = waiting.dropFirst(taken.count)
        do {
          let bodies = try taken.map { message in
            try message.content.fcmMessage(to: message.token.text, lifetime: .zero)
          }
          for (message, outcome) in zip(taken, try client.send(bodies)) {
            results[message.id] = outcome.map { DirectResult($0, of: message) }
          }
        } catch is GoogleTokenError {
          for message in messages where results[message.id] == nil {
            results[message.id] = DirectResult(
              isAccepted: false, status: 0, serviceID: nil, reason: "NoAccessToken")
          }
          return results
        }
      }
      return results
    }
  }
}

extension DirectResult {
  fileprivate init(_ outcome: FCMOutcome, of message: DirectMessage) {
    let isDead = [.removeToken, .markMismatch].contains(outcome.action(attempts: 1))
    let (name, reason): (String?, String?) =
      switch outcome {
      case .accepted(let name): (name, nil)
      case .refused(let refusal): (nil, refusal.code)
      case .unanswered: (nil, "NoAnswer")
      }
    self.init(
      isAccepted: outcome.action(attempts: 1) == .done, status: outcome.status ?? 0,
      serviceID: name, reason: reason?.isEmpty == true ? nil : reason,
      // Only the registration that was tried is dead; a later one may be valid.
      deadBefore: isDead ? message.registeredAt + .milliseconds(1) : nil)
  }
}

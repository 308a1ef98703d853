import Base
package import Store

extension DeliveryChannel {
  /// Web Push, for the subscriptions of browsers.
  ///
  /// - Parameters:
  ///   - keys: keys that open the subscriptions.
  ///   - answerLimit: time limit for one request; less than the companion's time to stop.
  package static func webPush(
    _ settings: WebPushSettings, _ database: Database, keys: CompanionKeys,
    answerLimit: Duration = .seconds(7), clock: LimitClock = .system
  ) -> DeliveryChannel {
    @Sendable func sealed(_ tokens: [String]) throws -> [String: String] {
      try database.records(at: .now(), from: .companion).webSubscriptions.sealed(of: tokens)
    }
    return DeliveryChannel(
      name: .webPush, platforms: [.web],
      routes: { try sealed($0.map(\.token)) },
      beginRun: { deadline in
        WebPushRun(
          settings, keys: keys, until: deadline, answerLimit: answerLimit, clock: clock)
      },
      describe: { _ in "the push service of the browser" },
      direct: DirectSender(settings, keys: keys, subscriptions: sealed, clock))
  }
}

extension DirectSender {
  /// Sends to browsers one after the other, until a time limit.
  fileprivate init(
    _ settings: WebPushSettings, keys: CompanionKeys,
    subscriptions: @escaping @Sendable ([String]) throws -> [String: String],
    _ clock: LimitClock
  ) {
    self.init(concurrency: 1) { messages in
      var limits = HTTPClient.Limits()
      limits.connecting = .seconds(3)
      limits.total = .seconds(4)
      limits.body = 65_536
      // Shorter than the ten seconds that the request waits.
      let deadline = clock.now() + .seconds(5)
      let sender = WebPushSender(settings, keys: keys, limits: limits, clock: clock)
      // Other channels may have sent already, so an error of the database only means that this
      // channel has sent nothing.
      guard let found = try? subscriptions(messages.map(\.token.text)) else { return [:] }
      var results: [String: DirectResult] = [:]
      for message in messages where clock.now() < deadline {
        let outcome = sender.send(
          WebPushSender.Message(
            token: message.token.text, sealed: found[message.token.text],
            payload: message.content.apnsPayload, collapseID: nil, lifetime: 60)
        ).outcome
        results[message.id] = DirectResult(outcome, of: message)
      }
      return results
    }
  }
}

extension DirectResult {
  fileprivate init(_ outcome: WebPushOutcome, of message: DirectMessage) {
    let isAccepted = if case .accepted = outcome { true } else { false }
    self.init(
      isAccepted: isAccepted, status: Int64(outcome.toldStatus),
      serviceID: outcome.status == 0 ? nil : message.id, reason: outcome.toldReason,
      // Only the registration that was tried is dead; a later one may be valid.
      deadBefore: outcome.isGone ? message.registeredAt + .milliseconds(1) : nil)
  }
}

import Base
import Store

extension APNsApps {
  /// Clients with short time limits for a ``DirectSender``. They keep their connections between calls.
  init(
    directly family: [APNsSettings], _ database: Database, sealingKeys: CompanionKeys,
    clock: LimitClock
  ) {
    self.init(
      all: family.map {
        var limits = APNsClient.Limits()
        limits.engine.window = $0.testConcurrency
        limits.connections = 1
        limits.connecting = .seconds(3)
        limits.answersAtEnd = .seconds(4)
        return APNsApp($0, database, sealingKeys: sealingKeys, limits: limits, clock: clock)
      }, clock: clock)
  }
}

extension DirectSender {
  /// Sends to Apple over the kept connections of `apps`.
  init(_ apps: APNsApps) {
    self.init(concurrency: apps.all[0].settings.testConcurrency) { messages in
      // Shorter than the ten seconds that the request waits.
      let end = apps.clock.now() + .seconds(8)
      let routes = try apps.findRoutes(
        to: messages.map { PushAddress($0.token.text, by: .apns, bundleID: $0.bundleID) })
      let groups = Dictionary(grouping: messages) {
        apps.position(onRoute: routes[$0.token.text])
      }
      return try atOnce(
        groups.map { index, group in { try apps.sendDirectly(group, from: index, until: end) } }
      ).reduce(into: [:]) { $0.merge($1) { first, _ in first } }
    }
  }
}

extension APNsApps {
  /// Sends for the app at `index`. Tries a token without a bundle id with each other app once if
  /// Apple assigns it to another app, and remembers the app that accepts it, like
  /// ``APNsAllAppsRun``.
  ///
  /// - Throws: if the database does not answer.
  fileprivate func sendDirectly(
    _ messages: [DirectMessage], from index: Int, until end: ContinuousClock.Instant
  ) throws -> [String: DirectResult] {
    var results = try all[index].sender(until: end).send(messages)
    var strangers = messages.filter { position(of: $0.bundleID) == nil }
    for step in 1..<max(all.count, 1) {
      strangers = strangers.filter { results[$0.id]?.isOfOtherTopic == true }
      if strangers.isEmpty { break }
      if clock.now() >= end {
        // Not every app was tried, so the token may still be valid.
        for message in strangers { results[message.id] = results[message.id]?.keepingToken }
        break
      }
      let app = all[(index + step) % all.count]
      results.merge(try app.sender(until: end).send(strangers)) { _, last in last }
      let taken = strangers.filter { results[$0.id]?.isAccepted == true }.map(\.token.text)
      let learned = try app.environments(of: taken)
      for token in taken where learned[token] == nil {
        try app.learn(app.settings.environment, of: token)
      }
    }
    return results
  }
}

extension DirectResult {
  /// Whether Apple says that the token belongs to another app.
  fileprivate var isOfOtherTopic: Bool {
    reason == APNsOutcome.Reason.deviceTokenNotForTopic.rawValue
  }

  /// The same result, but without deleting the token.
  fileprivate var keepingToken: DirectResult {
    DirectResult(isAccepted: isAccepted, status: status, serviceID: serviceID, reason: reason)
  }
}

extension APNsApp {
  fileprivate func sender(until end: ContinuousClock.Instant) -> DirectSender {
    DirectSender(topic: settings.topic, concurrency: settings.testConcurrency) {
      try sendDirectly($0, until: end)
    }
  }

  /// Sends each notification to the known host of its token, or else to the first host. Tries a
  /// refused token on the other host, and remembers the host that accepts it.
  ///
  /// - Throws: if the database does not answer.
  private func sendDirectly(
    _ notifications: [APNsNotification], until end: ContinuousClock.Instant
  ) throws -> [String: APNsOutcome] {
    let now = first.clock.now()
    let (firstEnd, secondEnd) = (min(end, now + .seconds(4)), min(end, now + .seconds(6)))
    let known = try environments(of: notifications.map(\.token.text))
    let isElsewhere = { (notification: APNsNotification) in
      known[notification.token.text] == settings.environment.other && other != nil
    }
    var outcomes = first.send(notifications.filter { !isElsewhere($0) }, until: firstEnd)
    guard let other else { return outcomes }
    outcomes.merge(other.send(notifications.filter(isElsewhere), until: firstEnd)) { first, _ in
      first
    }
    let suspects = notifications.filter { outcomes[$0.id]?.isMismatch == true }
    for (client, environment, asked) in [
      (other, settings.environment.other, suspects.filter { !isElsewhere($0) }),
      (first, settings.environment, suspects.filter(isElsewhere)),
    ] {
      for (id, answer) in client.send(asked, until: secondEnd) {
        outcomes[id] = answer.secondOpinion(after: outcomes[id] ?? answer, settings.retries)
        guard case .accepted = answer, let taken = asked.first(where: { $0.id == id })
        else { continue }
        try learn(environment, of: taken.token.text)
      }
    }
    return outcomes
  }
}

extension APNsClient {
  /// Sends `notifications` and returns their outcomes by id. Leaves out those without an outcome.
  fileprivate func send(
    _ notifications: [APNsNotification], until deadline: ContinuousClock.Instant
  ) -> [String: APNsOutcome] {
    var waiting = notifications[...]
    var outcomes: [String: APNsOutcome] = [:]
    if waiting.isEmpty { return outcomes }
    func isOver() -> Bool { clock.now() >= deadline }
    _ = run(until: deadline, isOver: isOver) { count in
      defer { waiting = waiting.dropFirst(count) }
      return Array(waiting.prefix(count))
    } report: { notification, outcome in
      outcomes[notification.id] = outcome
    }
    return outcomes
  }
}

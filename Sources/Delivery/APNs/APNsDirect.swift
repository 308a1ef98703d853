import Base
package import Store

extension DirectSender {
  /// Sends to Apple, over connections of its own for each call.
  package init(_ family: [APNsSettings], _ database: Database, sealingKeys: CompanionKeys) {
    let apps = APNsApps(
      all: family.map {
        var limits = APNsClient.Limits()
        limits.engine.window = $0.testConcurrency
        limits.connecting = .seconds(3)
        return APNsApp($0, database, sealingKeys: sealingKeys, limits: limits)
      })
    let senders = apps.all.map { app in
      DirectSender(topic: app.settings.topic, concurrency: app.settings.testConcurrency) {
        try app.sendDirectly($0)
      }
    }
    self.init(concurrency: senders[0].concurrency) { messages in
      let routes = try apps.findRoutes(
        to: messages.map { PushAddress($0.token.text, by: .apns, bundleID: $0.bundleID) })
      let groups = Dictionary(grouping: messages) {
        apps.position(onRoute: routes[$0.token.text])
      }
      return try atOnce(groups.map { index, group in { try senders[index].send(group) } })
        .reduce(into: [:]) { $0.merge($1) { first, _ in first } }
    }
  }
}

extension APNsApp {
  /// Sends each notification to the host that is known for its token, or else to the first one. Asks the other host
  /// about the tokens that a host calls wrong, and remembers where they are right.
  ///
  /// - Throws: where the database does not answer.
  fileprivate func sendDirectly(
    _ notifications: [APNsNotification]
  ) throws -> [String: APNsOutcome] {
    defer { close() }
    // Below the ten seconds that the request waits.
    let (firstEnd, secondEnd) = (
      ContinuousClock.now + .seconds(4), ContinuousClock.now + .seconds(6)
    )
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
  /// What became of each, by id; of what is not named nothing is known.
  fileprivate func send(
    _ notifications: [APNsNotification], until deadline: ContinuousClock.Instant
  ) -> [String: APNsOutcome] {
    var waiting = notifications[...]
    var outcomes: [String: APNsOutcome] = [:]
    if waiting.isEmpty { return outcomes }
    _ = run(until: deadline) { count in
      defer { waiting = waiting.dropFirst(count) }
      return Array(waiting.prefix(count))
    } report: { notification, outcome in
      outcomes[notification.id] = outcome
    }
    return outcomes
  }
}

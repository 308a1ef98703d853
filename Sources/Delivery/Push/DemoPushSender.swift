import Base
import Store

/// Does the job of `/api/push/test`.
struct DemoPushSender: Sendable {
  let database: Database
  let channels: [DeliveryChannel]
  /// Names of the unset variables that sending requires.
  let missing: [String]

  var handler: JobHandler {
    JobHandler(kind: .demoPush) { job in
      let test = try decoded(DemoPush.self, from: job.request)
      let outcome = try run(test).json
      return try database.records(at: .now(), from: .companion).jobs.finish(job, with: outcome)
    }
  }

  /// Sends the notification to the test's tokens that belong to its account. Checks format, limits
  /// and owner again, because the row is not trusted.
  func run(_ test: DemoPush) throws -> DemoPushOutcome {
    if channels.allSatisfy({ $0.direct == nil }) { return DemoPushOutcome(missing: missing) }
    guard test.message.isWithinLimits, test.tokens.count <= DemoPush.maximumTokens else {
      return .refused(test, because: "MalformedTest")
    }
    let tests = database.records(at: .now(), from: .companion).demoPushes
    let targets = try tests.targets(of: test)
    guard try targets.isEmpty || tests.admit(targets.count, of: test.accountID) else {
      return .refused(test, because: "TooManyTests")
    }
    let sent = try run(test.message.content, to: targets)
    let results = Dictionary(sent.results.map { ($0.token, $0) }) { first, _ in first }
    return DemoPushOutcome(
      concurrency: Int(sent.concurrency), staleTokensRemoved: Int(sent.staleTokensRemoved),
      results: test.tokens.map { results[$0] ?? .refused($0, because: "NotRegistered") })
  }

  /// Sends a notification to each target that accepts notifications, and removes dead tokens.
  func run(_ content: NotificationContent, to targets: [PushTarget]) throws -> DemoPushOutcome {
    let senders = channels.compactMap(\.direct)
    if senders.isEmpty { return DemoPushOutcome(missing: missing) }
    let plans = targets.map { plan(for: $0, content) }
    var results: [String: DirectResult] = [:]
    for channel in channels {
      let messages = plans.compactMap { $0.message(by: channel.name) }
      guard let direct = channel.direct, !messages.isEmpty else { continue }
      results.merge(try direct.send(messages)) { first, _ in first }
    }
    return try outcome(
      of: Array(zip(targets, plans)), results, concurrency: senders[0].concurrency)
  }

  private func outcome(
    of plans: [(PushTarget, Plan)], _ results: [String: DirectResult], concurrency: Int
  ) throws -> DemoPushOutcome {
    var told: [DemoPushOutcome.TokenResult] = []
    var removed = 0
    for (target, plan) in plans {
      switch plan {
      case .refuse(let reason): told.append(.refused(target.token, because: reason))
      case .send(let message, _):
        let result =
          results[message.id]
          ?? DirectResult(isAccepted: false, status: 0, serviceID: nil, reason: "NotSent")
        told.append(
          DemoPushOutcome.TokenResult(
            ok: result.isAccepted, status: result.status, token: target.token,
            apnsId: result.serviceID, reason: result.reason))
        if let instant = result.deadBefore, try remove(target.token, registeredBefore: instant) {
          removed += 1
        }
      }
    }
    return DemoPushOutcome(concurrency: concurrency, staleTokensRemoved: removed, results: told)
  }

  private func remove(_ token: String, registeredBefore instant: Timestamp) throws -> Bool {
    try database.records(at: .now(), from: .companion).pushTokens
      .remove(token, registeredBefore: instant)
  }

  private func plan(for target: PushTarget, _ content: NotificationContent) -> Plan {
    let channel = channels.first {
      $0.direct != nil && $0.platforms.contains(target.platform)
    }
    guard let channel else { return .refuse("UnsupportedPlatform") }
    guard target.isEnabled else { return .refuse("PushDisabled") }
    // The database holds no malformed token, so only its size can be wrong.
    guard let token = PushToken(target.token) else { return .refuse("PayloadTooLarge") }
    let message = DirectMessage(
      id: newClaimID(), token: token, registeredAt: target.registeredAt, content: content,
      bundleID: target.bundleID)
    return .send(message, by: channel.name)
  }
}

extension DemoPushOutcome {
  /// Outcome of a test for which no push service is asked, with the reason.
  fileprivate static func refused(_ test: DemoPush, because reason: String) -> DemoPushOutcome {
    DemoPushOutcome(
      results: test.tokens.prefix(DemoPush.maximumTokens).map { .refused($0, because: reason) })
  }
}

extension DemoPushOutcome.TokenResult {
  fileprivate static func refused(_ token: String, because reason: String) -> Self {
    Self(ok: false, status: 0, token: token, apnsId: nil, reason: reason)
  }
}

/// Plan for one target of a test.
private enum Plan {
  case send(DirectMessage, by: Channel)
  /// No push service is asked, for this reason.
  case refuse(String)

  func message(by name: Channel) -> DirectMessage? {
    if case .send(let message, name) = self { message } else { nil }
  }
}

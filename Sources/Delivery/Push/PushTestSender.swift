import Base
import Store

/// Does the job of `/api/push/test`.
struct PushTestSender: Sendable {
  let database: Database
  let channels: [DeliveryChannel]
  /// Names of the variables without which nothing is sent.
  let missing: [String]

  var handler: JobHandler {
    JobHandler(kind: .pushTest) { job in
      let test = try Job.decode(PushTest.self, from: job.request)
      let outcome = try Job.encode(run(test))
      return try database.records(at: .now(), from: .companion).jobs.finish(job, with: outcome)
    }
  }

  /// Sends the notification to every device to which one may be sent, and removes the tokens that
  /// are dead.
  func run(_ test: PushTest) throws -> PushTestOutcome {
    let senders = channels.compactMap(\.direct)
    if senders.isEmpty { return PushTestOutcome(missing: missing) }
    let payload = Array(test.payload.utf8)
    let plans = test.tokens.map { plan(for: $0, payload: payload) }
    var results: [String: DirectResult] = [:]
    for channel in channels {
      let messages = plans.compactMap { $0.message(by: channel.name) }
      guard let direct = channel.direct, !messages.isEmpty else { continue }
      results.merge(direct.send(messages)) { first, _ in first }
    }
    return try outcome(
      of: Array(zip(test.tokens, plans)), results, concurrency: senders[0].concurrency)
  }

  private func outcome(
    of plans: [(PushTest.Target, Plan)], _ results: [String: DirectResult], concurrency: Int
  ) throws -> PushTestOutcome {
    var told: [PushTestOutcome.TokenResult] = []
    var removed = 0
    for (target, plan) in plans {
      switch plan {
      case .refuse(let reason):
        told.append(
          PushTestOutcome.TokenResult(
            ok: false, status: 0, token: target.token, apnsId: nil, reason: reason))
      case .send(let message, _):
        let result =
          results[message.id]
          ?? DirectResult(isAccepted: false, status: 0, serviceID: nil, reason: "NotSent")
        told.append(
          PushTestOutcome.TokenResult(
            ok: result.isAccepted, status: result.status, token: target.token,
            apnsId: result.serviceID, reason: result.reason))
        if let instant = result.deadBefore, try remove(target.token, registeredBefore: instant) {
          removed += 1
        }
      }
    }
    return PushTestOutcome(concurrency: concurrency, staleTokensRemoved: removed, results: told)
  }

  private func remove(_ token: String, registeredBefore instant: Timestamp) throws -> Bool {
    try database.records(at: .now(), from: .companion).pushTokens
      .remove(token, registeredBefore: instant)
  }

  private func plan(for target: PushTest.Target, payload: [UInt8]) -> Plan {
    let platform = PushPlatform(rawValue: target.platform)
    let channel = channels.first { $0.direct != nil && platform.map($0.platforms.contains) == true }
    guard let channel else { return .refuse("UnsupportedPlatform") }
    guard target.isEnabled else { return .refuse("PushDisabled") }
    // The database holds no malformed token.
    guard let token = PushToken(target.token) else { return .refuse("PayloadTooLarge") }
    let message = DirectMessage(
      id: newClaimID(), token: token,
      registeredAt: Timestamp(milliseconds: target.registeredAt), payload: payload)
    return .send(message, by: channel.name)
  }
}

/// What to do about one target of a test.
private enum Plan {
  case send(DirectMessage, by: Channel)
  /// No service is asked, for this reason.
  case refuse(String)

  func message(by name: Channel) -> DirectMessage? {
    if case .send(let message, name) = self { message } else { nil }
  }
}

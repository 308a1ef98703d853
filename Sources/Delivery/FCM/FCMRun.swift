import Base
import Store

/// One run of the FCM channel.
final class FCMRun: ChannelRun {
  private let client: FCMClient
  private let deadline: ContinuousClock.Instant
  private let refusedTokens: RefusedTokens
  private var mismatches: [DeadToken] = []
  private var answered = 0
  private(set) var problem: String?
  private(set) var isStopped = false

  private static let batchSize = 2 * FCMClient.concurrency

  init(
    _ client: FCMClient, until deadline: ContinuousClock.Instant, refusedTokens: RefusedTokens
  ) {
    self.client = client
    self.deadline = deadline
    self.refusedTokens = refusedTokens
  }

  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void
  ) {
    while !isOver(), !isStopped, client.clock.now() < deadline {
      let taken = next(Self.batchSize)
      if taken.isEmpty { return }
      send(taken, isOver, report)
    }
  }

  func finish() -> [DeadToken] {
    guard refusedTokens.areOurFault(mismatches.map(\.token), among: answered) else {
      return mismatches
    }
    raise(
      "Google refuses the tokens of \(mismatches.count) devices: the project is wrong; no token was removed"
    )
    return []
  }

  private func send(
    _ taken: [OutgoingDelivery], _ isOver: () -> Bool, _ report: (SentDelivery) -> Void
  ) {
    var bodies: [[UInt8]] = []
    var sendable: [OutgoingDelivery] = []
    for outgoing in taken {
      do {
        bodies.append(try outgoing.delivery.fcmMessage())
        sendable.append(outgoing)
      } catch {
        report(
          SentDelivery(
            id: outgoing.delivery.id, outcome: .dead(status: nil, reason: "malformed data")))
      }
    }
    do {
      let outcomes = try client.send(bodies, isOver: isOver)
      for (outgoing, outcome) in zip(sendable, outcomes) {
        if let outcome {
          report(decide(outcome, of: outgoing))
        } else if !isOver() {
          report(SentDelivery(later: outgoing, "not sent"))
        }
      }
      let asked = outcomes.compactMap { $0 }
      let silences = asked.compactMap { if case .unanswered(let why) = $0 { why } else { nil } }
      if silences.count == asked.count, let reason = silences.first {
        raise("Google's host cannot be reached: \(reason)", isFinal: true)
      }
    } catch {
      let isDatabase = Database.isUnavailable(error)
      raise(
        isDatabase
          ? "there is no access token: the database does not answer" : "\(error)", isFinal: true)
      for outgoing in sendable { report(SentDelivery(later: outgoing, "no access token")) }
    }
  }

  private func decide(_ outcome: FCMOutcome, of outgoing: OutgoingDelivery) -> SentDelivery {
    let delivery = outgoing.delivery
    answered += 1
    let dead = DeadToken(token: delivery.token, registeredBefore: outgoing.readAt)
    var sent = SentDelivery(
      id: delivery.id, outcome: .dead(status: outcome.status, reason: outcome.reason))
    switch outcome.action(attempts: Int(delivery.attempts) + 1) {
    case .done: sent = SentDelivery(id: delivery.id, outcome: .delivered)
    case .removeToken: sent.deadToken = dead
    case .markMismatch: mismatches.append(dead)
    case .deadLetter: raise("Google answers \(outcome.status ?? 0) \(outcome.reason)")
    case .retry(let delay):
      sent = SentDelivery(
        id: delivery.id,
        outcome: .later(
          delay: delay, status: outcome.status, reason: outcome.reason, countsAsAttempt: true))
    case .stop, .renewAccessToken:
      raise("Google answers \(outcome.status ?? 0) \(outcome.reason)", isFinal: true)
      sent = SentDelivery(later: outgoing, outcome.reason, status: outcome.status)
    }
    return sent
  }

  private func raise(_ text: String, isFinal: Bool = false) {
    problem = problem ?? text
    isStopped = isStopped || isFinal
  }
}

extension SentDelivery {
  /// Delays a delivery by one minute without counting an attempt.
  fileprivate init(later outgoing: OutgoingDelivery, _ reason: String, status: Int64? = nil) {
    self.init(
      id: outgoing.delivery.id,
      outcome: .later(
        delay: .seconds(60), status: status, reason: reason, countsAsAttempt: false))
  }
}

extension Delivery {
  /// - Throws: ``JSONReader/Failure`` if the data is not a JSON object.
  fileprivate func fcmMessage() throws -> [UInt8] {
    try content.fcmMessage(
      to: token, lifetime: .seconds(expiresAt) - .seconds(Timestamp.now().seconds))
  }
}

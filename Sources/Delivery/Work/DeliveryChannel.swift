package import Base
package import Store

/// A way to send deliveries: a folder of Delivery and a line in `Channels.swift`. Leases, batches and
/// outcomes know no more of it than this.
package struct DeliveryChannel: Sendable {
  package let name: Channel
  /// The platforms whose push tokens it takes.
  package let platforms: Set<PushPlatform>
  /// What the channel has learned of tokens, by token; asked once for each batch.
  let routes: @Sendable (_ tokens: [String]) throws -> [String: String]
  /// Begins one run, which takes and sends nothing after `deadline`. Used by one thread.
  let beginRun: @Sendable (_ deadline: ContinuousClock.Instant) -> any ChannelRun
  /// Where a delivery with this route would go, in words.
  let describe: @Sendable (_ route: String?) -> String
  /// Closes the connections that are kept from run to run.
  let close: @Sendable () -> Void
  /// Sends what a request waits for; nil where the channel has no such way.
  package let direct: DirectSender?

  package init(
    name: Channel, platforms: Set<PushPlatform>,
    routes: @escaping @Sendable (_ tokens: [String]) throws -> [String: String] = { _ in [:] },
    beginRun: @escaping @Sendable (_ deadline: ContinuousClock.Instant) -> any ChannelRun,
    describe: @escaping @Sendable (_ route: String?) -> String,
    close: @escaping @Sendable () -> Void = {}, direct: DirectSender? = nil
  ) {
    self.name = name
    self.platforms = platforms
    self.routes = routes
    self.beginRun = beginRun
    self.describe = describe
    self.close = close
    self.direct = direct
  }
}

/// One run of a channel. A protocol because each channel keeps a state of its own during a run.
package protocol ChannelRun: AnyObject {
  /// Sends deliveries until `next` gives none, and reports each of them exactly once.
  ///
  /// - Parameters:
  ///   - isOver: whether nothing more is to be sent, whatever waits.
  ///   - next: gives at most as many as asked for.
  ///   - report: called with the last word on a delivery in this run.
  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void)

  /// Tokens that turned out to be dead at the end of the run, with the instant before which a
  /// registration counts. Called once.
  func finish() -> [DeadToken]

  /// Why an administrator must look; nil where all is well.
  var alarm: String? { get }

  /// Whether nothing more is to be sent in this run.
  var isStopped: Bool { get }
}

package struct OutgoingDelivery: Sendable {
  package let delivery: Delivery
  /// When it was read: tokens registered later are not those that it is sent to.
  package let readAt: Timestamp
  /// What the channel has learned of the token.
  package let route: String?
}

package struct SentDelivery: Sendable {
  package let id: String
  package let outcome: DeliveryOutcome
  /// The token is dead.
  package var deadToken: DeadToken?
  /// Runs once the outcome is recorded.
  package var afterwards: (@Sendable () throws -> Void)?

  package init(
    id: String, outcome: DeliveryOutcome, deadToken: DeadToken? = nil,
    afterwards: (@Sendable () throws -> Void)? = nil
  ) {
    self.id = id
    self.outcome = outcome
    self.deadToken = deadToken
    self.afterwards = afterwards
  }
}

package struct DeadToken: Sendable, Equatable {
  package let token: String
  /// Registrations from this instant on are not meant.
  package let registeredBefore: Timestamp

  package init(token: String, registeredBefore: Timestamp) {
    self.token = token
    self.registeredBefore = registeredBefore
  }
}

/// Sends notifications that one request waits for.
package struct DirectSender: Sendable {
  /// Requests in flight at most.
  package let concurrency: Int
  /// Sends all, and says by id what became of each. A message without a result was not sent.
  package let send: @Sendable ([DirectMessage]) -> [String: DirectResult]

  package init(
    concurrency: Int, send: @escaping @Sendable ([DirectMessage]) -> [String: DirectResult]
  ) {
    self.concurrency = concurrency
    self.send = send
  }
}

package struct DirectMessage: Sendable {
  /// UUID
  package let id: String
  package let token: PushToken
  package let registeredAt: Timestamp
  /// JSON
  package let payload: [UInt8]
}

package struct DirectResult: Sendable, Equatable {
  package let isAccepted: Bool
  /// Of the channel's service; 0 where it has not answered or was not asked.
  package let status: Int64
  /// By which the service knows the notification; nil where it was not asked.
  package let serviceID: String?
  /// The service's word or ours; nil where there is none.
  package let reason: String?
  /// Registrations of the token before this instant are dead.
  package let deadBefore: Timestamp?

  package init(
    isAccepted: Bool, status: Int64, serviceID: String?, reason: String?,
    deadBefore: Timestamp? = nil
  ) {
    self.isAccepted = isAccepted
    self.status = status
    self.serviceID = serviceID
    self.reason = reason
    self.deadBefore = deadBefore
  }
}

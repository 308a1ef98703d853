package import Base
package import Store

/// Channel for deliveries. A new channel needs a folder in Delivery and a line in `Channels.swift`.
/// Leases, batches and outcomes depend only on this type.
package struct DeliveryChannel: Sendable {
  package let name: Channel
  /// The platforms whose push tokens it supports.
  package let platforms: Set<PushPlatform>
  /// Returns the known routes by token; called once for each batch.
  package let routes: @Sendable ([PushAddress]) throws -> [String: String]
  /// Begins one run, which takes and sends nothing after `deadline`. Used by one thread.
  let beginRun: @Sendable (_ deadline: ContinuousClock.Instant) -> any ChannelRun
  /// Describes the destination of a delivery with this route.
  package let describe: @Sendable (_ route: String?) -> String
  /// Closes the connections that are kept between runs.
  let close: @Sendable () -> Void
  /// Sends notifications that a request waits for; nil if the channel cannot do this.
  package let direct: DirectSender?

  package init(
    name: Channel, platforms: Set<PushPlatform>,
    routes: @escaping @Sendable ([PushAddress]) throws -> [String: String] = { _ in [:] },
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

/// One run of a channel. A protocol, because each channel has its own state during a run.
package protocol ChannelRun: AnyObject {
  /// Sends deliveries until `next` returns none, and reports each of them exactly once.
  ///
  /// - Parameters:
  ///   - isOver: returns true if no more is to be sent, even if deliveries wait.
  ///   - next: returns at most as many as asked for.
  ///   - report: called with the final outcome of a delivery in this run.
  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void)

  /// Ends the run. Returns dead tokens, each with the time before which its registration is dead.
  /// Called once.
  func finish() -> [DeadToken]

  /// Problem that an administrator must fix; nil if there is none.
  var problem: String? { get }

  /// Whether the run must send no more.
  var isStopped: Bool { get }
}

package struct OutgoingDelivery: Sendable {
  package let delivery: Delivery
  /// Time of reading. A token registered later is not the one that the delivery is sent to.
  package let readAt: Timestamp
  /// Known route to the device.
  package let route: String?
}

package struct SentDelivery: Sendable {
  package let id: String
  package let outcome: DeliveryOutcome
  /// Token that turned out to be dead.
  package var deadToken: DeadToken?
  /// Called after the outcome is recorded.
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
  /// Later registrations of the token may be valid.
  package let registeredBefore: Timestamp

  package init(token: String, registeredBefore: Timestamp) {
    self.token = token
    self.registeredBefore = registeredBefore
  }
}

/// Sends notifications that one request waits for.
package struct DirectSender: Sendable {
  /// Maximum number of requests in flight.
  package let concurrency: Int
  /// Sends all messages and returns their results by id. A message without a result was not sent.
  /// Throws if the database does not answer.
  package let send: @Sendable ([DirectMessage]) throws -> [String: DirectResult]

  package init(
    concurrency: Int, send: @escaping @Sendable ([DirectMessage]) throws -> [String: DirectResult]
  ) {
    self.concurrency = concurrency
    self.send = send
  }
}

package struct DirectMessage: Sendable {
  /// UUID of the message.
  package let id: String
  package let token: PushToken
  package let registeredAt: Timestamp
  package let content: NotificationContent
  /// Bundle id that the app gave with the token; nil if it gave none.
  package let bundleID: String?
}

package struct DirectResult: Sendable, Equatable {
  package let isAccepted: Bool
  /// Status of the push service; 0 if it did not answer or was not asked.
  package let status: Int64
  /// The service's id of the notification; nil if the service was not asked.
  package let serviceID: String?
  /// Reason given by the push service or by us; nil if there is none.
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

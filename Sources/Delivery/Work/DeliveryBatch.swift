import Base
import Store

/// What a shard has in hand, or had.
struct DeliveryBatch: Sendable {
  let lease: ShardLease
  var deliveries: [OutgoingDelivery]
  var outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)] = []
  var deadTokens: [DeadToken] = []
  /// Run once the outcomes are recorded.
  var afterwards: [@Sendable () throws -> Void] = []
}

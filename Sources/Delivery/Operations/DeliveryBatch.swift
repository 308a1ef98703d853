import Base
import Store

/// Batch of deliveries of a shard, with their outcomes.
struct DeliveryBatch: Sendable {
  let lease: ShardLease
  var deliveries: [OutgoingDelivery]
  var outcomes: [(delivery: Delivery, outcome: DeliveryOutcome)] = []
  var deadTokens: [DeadToken] = []
  /// Functions to call after the outcomes are recorded.
  var afterwards: [@Sendable () throws -> Void] = []
}

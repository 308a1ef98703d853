import Synchronization

/// Counts the webhooks that are being sent to each merchant. A merchant that does not answer occupies only a
/// few threads, and only sometimes.
final class MerchantSlots: Sendable {
  private struct State {
    var occupied: [String: Int] = [:]
    /// Ends of the pauses of merchants that did not answer.
    var pauses: [String: ContinuousClock.Instant] = [:]
  }

  private static let most = 2
  private static let pause = Duration.seconds(40)
  private let state = Mutex(State())

  /// Ids of the merchants with any webhook that is being sent, and of those that can be sent no other now.
  /// Both have the merchants that pause.
  func busyMerchants(at now: ContinuousClock.Instant) -> (any: [String], full: [String]) {
    state.withLock { state in
      state.pauses = state.pauses.filter { $0.value > now }
      let full = state.occupied.filter { $0.value >= Self.most }.map(\.key) + state.pauses.keys
      return (Array(state.occupied.keys) + state.pauses.keys, full)
    }
  }

  /// Occupies a slot of the merchant.
  ///
  /// - Returns: false if it has none.
  func enter(_ merchant: String) -> Bool {
    state.withLock { state in
      guard state.occupied[merchant, default: 0] < Self.most else { return false }
      state.occupied[merchant, default: 0] += 1
      return true
    }
  }

  func leave(_ merchant: String) {
    state.withLock { state in
      let left = state.occupied[merchant, default: 0] - 1
      state.occupied[merchant] = left > 0 ? left : nil
    }
  }

  /// Sends the merchant nothing more for a while, because it did not answer in time.
  func pause(_ merchant: String, at now: ContinuousClock.Instant) {
    state.withLock { $0.pauses[merchant] = now + Self.pause }
  }
}

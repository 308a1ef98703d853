import Synchronization

/// Counts the webhooks that are being sent to each merchant. A merchant that never answers occupies only a
/// few threads.
final class MerchantSlots: Sendable {
  private static let most = 2
  private let occupied = Mutex<[String: Int]>([:])

  /// Ids of the merchants without a free slot.
  var fullMerchants: [String] {
    occupied.withLock { $0.filter { $0.value >= Self.most }.map(\.key) }
  }

  /// Occupies a slot of the merchant.
  ///
  /// - Returns: false if it has none.
  func enter(_ merchant: String) -> Bool {
    occupied.withLock { occupied in
      guard occupied[merchant, default: 0] < Self.most else { return false }
      occupied[merchant, default: 0] += 1
      return true
    }
  }

  func leave(_ merchant: String) {
    occupied.withLock { occupied in
      let left = occupied[merchant, default: 0] - 1
      occupied[merchant] = left > 0 ? left : nil
    }
  }
}

import Base
import Cryptography
import Support

@testable import Store

/// The objects in the database whose histories are played.
enum SharedObjects: CaseIterable {
  case tickets, refreshes, leases

  /// - Returns: the histories that no order of their calls explains.
  func play(in store: TestStore, _ condition: HistoryCondition) throws -> [String] {
    switch self {
    case .tickets: try playTickets(in: store, condition)
    case .refreshes: try playRefreshes(in: store, condition)
    case .leases: try playLeases(in: store, condition)
    }
  }

  private func playTickets(in store: TestStore, _ condition: HistoryCondition) throws -> [String] {
    store.sql(
      """
      INSERT INTO pairing_tokens (nonce, issued_at, expires_at)
      VALUES ('0123456789abcdef', '2020-01-01', '2100-01-01')
      """)
    let object = SharedObject(from: Set<Int>()) { spent, ticket in spent.insert(ticket).inserted }
    return try object.play(in: store, as: "responder", under: condition) { seed in
      store.sql(
        """
        INSERT INTO pairing_tickets (ticket_hash, nonce, expires_at)
        SELECT UNHEX(SHA2(CONCAT('\(seed) ', seq), 256)), '0123456789abcdef', '2100-01-01' FROM seq_0_to_2
        """)
    } client: { seed, chance, call in
      for _ in 0..<4 {
        let ticket = Int.random(in: 0...2, using: &chance)
        call(ticket) { records in
          let admission = try records.agentAccess.spendTicket(sha256("\(seed) \(ticket)"))
          return if case .admitted = admission { true } else { false }
        }
      }
    }
  }

  private func playRefreshes(
    in store: TestStore, _ condition: HistoryCondition
  ) throws -> [String] {
    store.sql(
      """
      INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
        VALUES (UUID(), 'ann@example.org', 'Ann', 'ann@example.org', 'wsim_ABCDEFGHIJKL', '2020-01-01');
      INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
        SELECT UUID(), id, 'phone', 'phone', 'ios', '2020-01-01', '2020-01-01' FROM accounts
      """)
    // All calls are at the same time: no token counts as copied.
    let object = SharedObject(from: Int64(1)) { newest, presented -> Int64? in
      if presented == newest { newest += 1 }
      return presented >= newest - 1 ? newest : nil
    }
    return try object.play(in: store, as: "responder", under: condition) { seed in
      store.sql(
        """
        INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, began_by)
        SELECT '\(Self.id(of: seed))', id, '2027-01-15', '2027-01-15', '2030-01-01', 'code' FROM devices
        """)
    } client: { seed, chance, call in
      var known: Int64 = 1
      for _ in 0..<Int.random(in: 1...4, using: &chance) {
        let presented = max(1, known - Int64.random(in: 0...1, using: &chance))
        call(presented) { records in
          let outcome = try records.sessions.refresh(
            Self.id(of: seed), generation: presented, credentialHash: nil)
          guard case .refreshed(let session) = outcome else { return nil }
          known = session.generation
          return session.generation
        }
      }
    }
  }

  private enum LeaseCall: Hashable {
    case claim(String)
    case record(String)
    case release(String)
  }

  private func playLeases(in store: TestStore, _ condition: HistoryCondition) throws -> [String] {
    let channel = Channel("apns")
    try store.records("companion").deliveries.addLeases(of: channel)
    let object = SharedObject(from: String?.none) { (holder: inout String?, call: LeaseCall) in
      switch call {
      case .claim(let id):
        guard holder == nil else { return false }
        holder = id
      case .record(let id): return holder == id
      case .release(let id): if holder == id { holder = nil }
      }
      return true
    }
    return try object.play(in: store, as: "companion", under: condition) { _ in
      store.sql("UPDATE delivery_leases SET claim_id = NULL, leased_until = '1970-01-01'")
    } client: { _, chance, call in
      for _ in 0..<2 {
        let lease = ShardLease(
          channel: channel, shard: 3, claimID: timeOrderedUUID(milliseconds: 0))
        call(.claim(lease.claimID)) {
          try $0.deliveries.claim(shard: 3, of: channel, as: lease.claimID) != nil
        }
        call(.record(lease.claimID)) { try $0.deliveries.record([], under: lease) }
        if Bool.random(using: &chance) { continue }
        call(.release(lease.claimID)) { records in
          try records.deliveries.release(lease)
          return true
        }
      }
    }
  }

  /// A time-ordered UUID that depends on the seed alone.
  private static func id(of seed: UInt64) -> String {
    "00000000-0000-4000-8000-" + String(100_000_000_000 + seed)
  }
}

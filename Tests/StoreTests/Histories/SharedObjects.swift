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
    // All calls are at the same time.
    let object = SharedObject(from: RefreshState()) { state, call in state.refresh(call) }
    return try object.play(in: store, as: "responder", under: condition) { seed in
      store.sql(
        """
        INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, began_by)
        SELECT '\(Self.id(of: seed))', id, '2027-01-15', '2027-01-15', '2030-01-01', 'code' FROM devices
        """)
    } client: { seed, chance, call in
      var known = TokenPlace(generation: 1, branch: 0)
      var before = known
      for _ in 0..<Int.random(in: 1...4, using: &chance) {
        let presented = Bool.random(using: &chance) ? known : before
        let isElsewhere = Int.random(in: 0..<4, using: &chance) == 0
        call(RefreshCall(presented: presented, isElsewhere: isElsewhere)) { records in
          let origin = Origin(
            requestID: "request", address: isElsewhere ? "198.51.100.1" : "192.0.2.1")
          let outcome = try records.database.records(at: records.now, from: origin).sessions
            .refresh(Self.id(of: seed), at: presented, credentialHash: nil)
          guard case .refreshed(let session) = outcome else { return nil }
          (known, before) = (session.place, presented)
          return session.place
        }
      }
    }
  }

  private struct RefreshCall: Sendable {
    let presented: TokenPlace
    let isElsewhere: Bool
  }

  /// The rules of a family whose tokens are never used, at one instant.
  private struct RefreshState: Hashable {
    private var generation: Int64 = 1
    private var branch: Int64 = 0
    private var firstBranch: Int64 = 0
    private var isElsewhere: Bool?
    private var hasEnded = false

    mutating func refresh(_ call: RefreshCall) -> TokenPlace? {
      let steps = generation - call.presented.generation
      if hasEnded || steps > 1 { return nil }
      let isLiving =
        call.presented.branch == branch || steps == 1 && call.presented.branch == firstBranch
      guard isLiving, steps == 0 || isElsewhere == call.isElsewhere || branch < firstBranch + 10
      else {
        hasEnded = true
        return nil
      }
      if steps == 0 { (generation, firstBranch) = (generation + 1, branch) }
      if steps == 1, isElsewhere != call.isElsewhere { branch += 1 }
      isElsewhere = call.isElsewhere
      return TokenPlace(generation: generation, branch: branch)
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

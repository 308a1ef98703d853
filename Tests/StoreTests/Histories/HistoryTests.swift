import Base
import Cryptography
import MariaDB
import Support
import Synchronization
import Testing

@testable import Store

/// Histories of eight clients on the same rows, whose connections are cut before or after a command: one-time
/// values, refreshes and leases behave as if each call happened at one moment.
@Suite struct HistoryTests {
  @Test func aTicketIsSpentAtOneMoment() throws {
    try withStore { store in
      store.sql(
        """
        INSERT INTO pairing_tokens (nonce, issued_at, expires_at)
        VALUES ('0123456789abcdef', '2020-01-01', '2100-01-01')
        """)
      let object = SharedObject(from: Set<Int>()) { spent, ticket in spent.insert(ticket).inserted }
      let problems = try object.play(in: store, as: "responder") { seed in
        store.sql(
          """
          INSERT INTO pairing_tickets (ticket_hash, nonce, expires_at)
          SELECT UNHEX(SHA2(CONCAT('\(seed) ', seq), 256)), '0123456789abcdef', '2100-01-01' FROM seq_0_to_2
          """)
      } client: { seed, chance, call in
        for _ in 0..<4 {
          let ticket = Int.random(in: 0...2, using: &chance)
          call(ticket) { try $0.agentAccess.spendTicket(sha256("\(seed) \(ticket)")) != .refused }
        }
      }
      #expect(problems == [])
    }
  }

  @Test func aRefreshTokenIsReplacedAtOneMoment() throws {
    try withStore { store in
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
      let problems = try object.play(in: store, as: "responder") { seed in
        store.sql(
          """
          INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, began_by)
          SELECT '\(id(of: seed))', id, '2027-01-15', '2027-01-15', '2030-01-01', 'code' FROM devices
          """)
      } client: { seed, chance, call in
        var known: Int64 = 1
        for _ in 0..<Int.random(in: 1...4, using: &chance) {
          let presented = max(1, known - Int64.random(in: 0...1, using: &chance))
          call(presented) { records in
            let outcome = try records.sessions.refresh(
              id(of: seed), generation: presented, credentialHash: nil)
            guard case .refreshed(let session) = outcome else { return nil }
            known = session.generation
            return session.generation
          }
        }
      }
      #expect(problems == [])
    }
  }

  private enum LeaseCall: Hashable {
    case claim(String)
    case record(String)
    case release(String)
  }

  @Test func aLeaseHasOneHolderAtAnyMoment() throws {
    try withStore { store in
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
      let problems = try object.play(in: store, as: "companion") { _ in
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
      #expect(problems == [])
    }
  }

  /// A time-ordered UUID that depends on the seed alone.
  private func id(of seed: UInt64) -> String {
    "00000000-0000-4000-8000-" + String(100_000_000_000 + seed)
  }
}

/// The rules of an object in the database that several clients use.
private struct SharedObject<
  State: Hashable & Sendable, Operation: Sendable, Answer: Equatable & Sendable
> {
  typealias Call = (Operation, (Records) throws -> Answer) -> Void

  private let initial: State
  private let apply: @Sendable (inout State, Operation) -> Answer

  init(from initial: State, _ apply: @escaping @Sendable (inout State, Operation) -> Answer) {
    self.initial = initial
    self.apply = apply
  }

  /// Lets eight clients call at once, each through connections of its own that are cut once.
  ///
  /// - Parameters:
  ///   - prepare: makes the object of a seed.
  ///   - client: makes the calls of one client.
  /// - Returns: the histories that no order of their calls explains.
  func play(
    in store: TestStore, as program: String, prepare: (UInt64) -> Void,
    client: @escaping @Sendable (UInt64, inout SeededGenerator, Call) -> Void
  ) throws -> [String] {
    let clients = (0..<8).map { number in CutClient(number, in: store, as: program) }
    return simulate(40) { seed in
      prepare(seed)
      let recorder = CallRecorder<Operation, Answer>()
      inParallel(clients.count) { number in
        var chance = SeededGenerator(state: seed &* 1000 &+ UInt64(number))
        let records = clients[number].begin(&chance)
        client(seed, &chance) { operation, body in
          recorder.call(operation) { try body(records) }
        }
      }
      let calls = recorder.calls.sorted { $0.began < $1.began }
      return isLinearizable(calls, from: initial, apply) ? nil : "\(calls)"
    }
  }
}

/// A client with a database of its own, whose connection is cut at one command of a history.
private final class CutClient: Sendable {
  private struct Cut {
    var commandsLeft = 0
    var action = MariaDBProxy.Action.pass
  }

  private let proxy: MariaDBProxy
  private let database: Database
  private let number: Int
  private let cut: SharedCut

  private final class SharedCut: Sendable {
    let value = Mutex(Cut())
  }

  init(_ number: Int, in store: TestStore, as program: String) {
    self.number = number
    let cut = SharedCut()
    self.cut = cut
    proxy = MariaDBProxy(accountSettings(of: program, in: store.root)) { _ in
      cut.value.withLock { cut in
        cut.commandsLeft -= 1
        return cut.commandsLeft == 0 ? cut.action : .pass
      }
    }
    database = Database(proxy.settings, mailKeys: TestStore.mailKeys)
  }

  /// Chooses the next cut.
  func begin(_ chance: inout SeededGenerator) -> Records {
    let action = Bool.random(using: &chance) ? MariaDBProxy.Action.cutBefore : .cutAfter
    let commands = Int.random(in: 1...30, using: &chance)
    cut.value.withLock { $0 = Cut(commandsLeft: commands, action: action) }
    return database.records(
      at: Timestamp(seconds: 1_800_000_000),
      from: Origin(requestID: "request", address: "192.0.2.\(number)"))
  }
}

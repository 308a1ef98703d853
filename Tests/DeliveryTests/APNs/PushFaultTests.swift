import Cryptography
import Foundation
import MariaDB
import ProcessSupport
import SharedSettings
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// The outbox of notifications during failures of the database or the senders.
@Suite struct PushFaultTests {
  /// Two updates in the same millisecond leave the lease's row unchanged.
  @Test func aShardOfWhichNothingIsDueKeepsItsLease() throws {
    try withDelivery { delivery throws in
      let deliveries = delivery.deliveries
      for _ in 1...200 {
        let lease = try #require(
          try deliveries.claim(shard: 3, of: .apns, as: UUID().uuidString))
        let batch = try deliveries.nextBatch(of: lease, limit: 500)
        try #require(batch?.isEmpty == true)
        #expect(try deliveries.record([], under: lease))
        try deliveries.release(lease)
      }
    }
  }

  private func counting(
    _ delivery: TestDelivery, _ action: @escaping @Sendable (String, Int) -> MariaDBProxy.Action
  ) -> MariaDBProxy {
    // What follows a PREPARE in a transaction runs again in any case, so it does not count. Each connection has a thread.
    let state = Mutex<(counts: [String: Int], phases: [pthread_t: Phase])>(([:], [:]))
    return MariaDBProxy(accountSettings(of: "companion", in: delivery.root)) { command in
      let connection = pthread_self()
      return state.withLock { state in
        let phase = state.phases[connection]
        switch command {
        case .query("SET autocommit = 1"): state.phases[connection] = nil
        case .query("SET autocommit = 0"), .query("COMMIT"), .query("ROLLBACK"):
          state.phases[connection] = .ready
        case .prepare where phase == .begun: state.phases[connection] = .rehearsal
        case .execute(let sql) where phase != .rehearsal:
          if phase == .ready { state.phases[connection] = .begun }
          state.counts[sql, default: 0] += 1
          return action(sql, state.counts[sql]!)
        default: break
        }
        return .pass
      }
    }
  }

  /// Of a transaction.
  private enum Phase { case ready, begun, rehearsal }

  @Test func outcomesThatCannotBeRecordedAtFirstAreRecordedAtTheEnd() throws {
    try withDelivery { delivery throws in
      delivery.insert(100)
      let proxy = counting(delivery) { sql, number in
        sql.contains("state = 'delivered'") && number == 1 ? .refuse(1290) : .pass
      }
      try withAPNs { fake throws in
        #expect(throws: DatabaseError.self) {
          try delivery.send(by: fake, through: Database(proxy.settings))
        }
      } thenLook: { fake, _ throws in
        let received = try fake.received().count
        #expect(received > 0)
        let delivered = "SELECT COUNT(*) FROM deliveries WHERE state = 'delivered' AND attempts = 1"
        #expect(delivery.sql(delivered) == "\(received)")
        let open = "SELECT COUNT(*) FROM deliveries WHERE state = 'open' AND attempts = 0"
        #expect(delivery.sql(open) == "\(100 - received)")
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM delivery_leases WHERE batch <> '[]'") == "0")
    }
  }

  @Test func whenTheDatabaseFailsNothingMoreIsTaken() throws {
    try withDelivery { delivery throws in
      delivery.insert(2_000)
      let isFailing = Atomic(false)
      let proxy = counting(delivery) { sql, number in
        if sql.contains("SET batch = ?"), number > 3 {
          isFailing.store(true, ordering: .relaxed)
        }
        return isFailing.load(ordering: .relaxed) ? .refuse(1290) : .pass
      }
      try withAPNs { fake throws in
        #expect(throws: DatabaseError.self) {
          try delivery.send(by: fake, through: Database(proxy.settings))
        }
        delivery.letLeasesEnd()
        _ = try delivery.send(by: fake)
        delivery.letLeasesEnd()
        _ = try delivery.send(by: fake)
      } thenLook: { fake, _ throws in
        // Only the batches of up to three shards were in progress.
        #expect(try fake.received().count < 2_000 + 3 * 250)
        let visible = try fake.visible()
        #expect(visible.count == 2_000)
        #expect(visible.values.allSatisfy { $0.count == 1 })
      }
      #expect(
        delivery.sql("SELECT COUNT(*) FROM deliveries WHERE state = 'delivered'") == "2000")
    }
  }

  @Test func aTopicThatIsRefusedEndsTheSendingAtOnce() throws {
    try withDelivery { delivery throws in
      delivery.insert(300)
      try withAPNs("answer every 1 400 BadTopic") { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report.later == 1)
        #expect(report.problem == "Apple answers 400 BadTopic")
      } thenLook: { fake, _ throws in
        #expect(try fake.received().count == 1)
      }
      #expect(
        delivery.sql("SELECT COUNT(*) FROM deliveries WHERE state = 'open' AND attempts = 0")
          == "300")
    }
  }

  @Test func tokensThatDiedGoAlsoWhereTheBatchIsGivenBack() throws {
    try withDelivery { delivery throws in
      delivery.insert(300)
      // The second delivery stops the sending before the batch is complete.
      delivery.sql(
        """
        UPDATE deliveries SET shard = 5;
        UPDATE deliveries SET due_at = '2020-01-01' ORDER BY id LIMIT 2;
        UPDATE deliveries SET due_at = '2019-01-01' ORDER BY id LIMIT 1;
        """)
      let second = delivery.sql("SELECT token FROM deliveries WHERE due_at = '2020-01-01'")
      let faults = [
        "answer token \(second) 400 BadTopic", "answer every 1 410 Unregistered 1763712000123",
      ]
      try withAPNs(faults: faults) { fake throws in
        let report = try delivery.send(by: fake)
        #expect((1..<299).contains(report.dead))
        #expect(report.tokensRemoved == report.dead)
        #expect(delivery.sql("SELECT COUNT(*) FROM ogs_registrations") == "\(300 - report.dead)")
      }
    }
  }

  @Test func aWrongHostIsNotToldOfEveryTokenThatThereIs() throws {
    try withDelivery { delivery throws in
      delivery.insert(3_000)
      try withAPNs("answer every 1 400 BadDeviceToken") { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report.problem?.contains("no token was removed") == true)
        #expect((1_000...1_100).contains(report.dead))
      } thenLook: { fake, _ throws in
        #expect(try fake.received().count <= 1_100)
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM ogs_registrations") == "3000")
    }
  }

  @Test func whatEndsItsSendersTakesNoOtherAlong() throws {
    try withDelivery { delivery throws in
      delivery.insert(20)
      delivery.sql("UPDATE deliveries SET shard = 5")
      let poison = delivery.sql("SELECT id FROM deliveries ORDER BY id LIMIT 1")
      let deliveries = delivery.deliveries
      for _ in 1...60 {
        guard let lease = try deliveries.claim(shard: 5, of: .apns, as: UUID().uuidString) else {
          continue
        }
        let batch = try #require(
          try deliveries.nextBatch(of: lease, limit: 500))
        if !batch.contains(where: { $0.id == poison }) {
          #expect(try deliveries.record(batch.map { ($0, .delivered) }, under: lease))
        }
        delivery.letLeasesEnd()
      }
      #expect(delivery.states == "dead no outcome 5 1\ndelivered 200 4 19")
    }
  }

  @Test func aSenderThatEndsCostsAnOldNotificationNoMoreThanANewOne() throws {
    try withDelivery { delivery throws in
      delivery.insert(1)
      delivery.sql("UPDATE deliveries SET attempts = 12, status = 503, reason = 'Shutdown'")
      let deliveries = delivery.deliveries
      let shard = try #require(try deliveries.dueShards(of: .apns).first)
      let lease = try #require(try deliveries.claim(shard: shard, of: .apns, as: UUID().uuidString))
      _ = try deliveries.nextBatch(of: lease, limit: 500)
      delivery.letLeasesEnd()
      _ = try deliveries.claim(shard: shard, of: .apns, as: UUID().uuidString)
      #expect(delivery.states == "open 503 no outcome 13 1")
    }
  }

  @Test func aProviderTokenThatNobodyCanOpenIsReplacedAsSoonAsItMayBe() throws {
    try withDelivery { delivery throws in
      try withAPNs { fake throws in
        let tokens = SharedProviderTokens(
          database: delivery.companionDatabase, settings: try fake.settings(),
          sealingKeys: TestDelivery.keys)
        let first = try tokens.currentToken(insteadOf: nil)
        delivery.sql("UPDATE provider_tokens SET sealed = 'k0:AAAA'")
        #expect(throws: CryptographyError.self) { try tokens.currentToken(insteadOf: nil) }
        delivery.sql("UPDATE provider_tokens SET issued_at = issued_at - INTERVAL 21 MINUTE")
        let second = try tokens.currentToken(insteadOf: nil)
        #expect(first != second)
        #expect(try tokens.currentToken(insteadOf: nil) == second)
      }
    }
  }
}

import Base
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

/// The outbox of notifications: from rows to the devices, and back to rows.
@Suite struct PushesTests {
  @Test func whatIsDueIsSentAndRecorded() throws {
    try withDelivery { delivery throws in
      delivery.insert(2_000)
      try withAPNs { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report == DeliveryReport(delivered: 2_000))
        #expect(delivery.states == "delivered 200 1 2000")
        let second = try delivery.send(by: fake)
        #expect(second == DeliveryReport())
      } thenLook: { fake, _ throws in
        #expect(try fake.received().count == 2_000)
        #expect(try fake.visible().count == 2_000)
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM delivery_leases WHERE batch <> '[]'") == "0")
    }
  }

  @Test func aTokenThatDiedAfterItsRegistrationGoes() throws {
    try withDelivery { delivery throws in
      delivery.insert(10)
      delivery.sql("UPDATE ogs_registrations SET registered_at = '2030-01-01' LIMIT 4")
      try withAPNs("answer every 1 410 Unregistered 1763712000123") { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report == DeliveryReport(dead: 10, tokensRemoved: 6))
      }
      #expect(delivery.states == "dead 410 Unregistered 1 10")
      #expect(delivery.sql("SELECT COUNT(*) FROM ogs_registrations") == "4")
      #expect(
        delivery.sql(
          "SELECT COUNT(*) FROM dead_tokens t WHERE NOT EXISTS (SELECT 1 FROM ogs_registrations r WHERE r.device_token = t.token)"
        ) == "6")
      #expect(delivery.sql("SELECT COUNT(*) FROM dead_tokens") == "6")
    }
  }

  @Test func aBatchInWhichAllTokensAreWrongRemovesNoneAndIsAProblem() throws {
    try withDelivery { delivery throws in
      delivery.insert(30)
      try withAPNs("answer every 1 400 BadDeviceToken") { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report.tokensRemoved == 0)
        #expect(report.problem?.contains("no token was removed") == true)
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM ogs_registrations") == "30")
    }
  }

  @Test func aFewWrongTokensGo() throws {
    try withDelivery { delivery throws in
      delivery.insert(30)
      try withAPNs("answer every 15 400 BadDeviceToken") { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report == DeliveryReport(delivered: 28, dead: 2, tokensRemoved: 2))
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM ogs_registrations") == "28")
    }
  }

  /// Many are more than 20 tokens, and more than a tenth of the run.
  @Test(arguments: [(20, 40, true), (21, 40, false), (21, 210, true), (21, 209, false)])
  func wrongTokensGoUnlessTheyAreMany(count: Int, of total: Int, isRemoved: Bool) throws {
    try withDelivery { delivery throws in
      delivery.insert(total)
      let tokens = delivery.sql("SELECT token FROM deliveries ORDER BY token LIMIT \(count)")
      let faults = tokens.split(separator: "\n").map { "answer token \($0) 400 BadDeviceToken" }
      try withAPNs(faults: faults) { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report.tokensRemoved == (isRemoved ? count : 0))
        #expect((report.problem == nil) == isRemoved)
      }
    }
  }

  /// Anybody can register any number of invented tokens.
  @Test(arguments: [(7, true), (6, false)])
  func wrongTokensOfFewPeopleAreNotOurMistake(owners: Int, areOurMistake: Bool) throws {
    try withDelivery { delivery throws in
      delivery.insert(30)
      delivery.sql("UPDATE ogs_registrations SET ogs_user_id = ogs_user_id % \(owners) + 1")
      try withAPNs("answer every 1 400 BadDeviceToken") { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report.tokensRemoved == (areOurMistake ? 0 : 30))
        #expect((report.problem != nil) == areOurMistake)
      }
    }
  }

  @Test func whatWasInHandWhenItsSenderDiedCountsAsTriedAndIsSentLater() throws {
    try withDelivery { delivery throws in
      delivery.insert(3)
      let deliveries = delivery.deliveries
      for shard in try deliveries.dueShards(of: .apns) {
        let lease = try #require(
          try deliveries.claim(shard: shard, of: .apns, as: UUID().uuidString))
        _ = try deliveries.nextBatch(of: lease, limit: 500)
      }
      try withAPNs { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report == DeliveryReport(), "leased to the one that died")
        delivery.sql("UPDATE delivery_leases SET leased_until = UTC_TIMESTAMP(3)")
        let second = try delivery.send(by: fake)
        #expect(second == DeliveryReport(), "it waits a while")
        #expect(delivery.states == "open no outcome 1 3")
        delivery.sql("UPDATE deliveries SET due_at = UTC_TIMESTAMP(3)")
        let third = try delivery.send(by: fake)
        #expect(third == DeliveryReport(delivered: 3))
      }
      #expect(delivery.states == "delivered 200 2 3")
    }
  }

  @Test func whatCrashesItsSenderIsGivenUpAfterFiveTimes() throws {
    try withDelivery { delivery throws in
      delivery.insert(1)
      let deliveries = delivery.deliveries
      // A pass that inherits the delivery delays it; the next pass takes it again.
      for _ in 1...10 {
        for shard in try deliveries.dueShards(of: .apns) {
          guard let lease = try deliveries.claim(shard: shard, of: .apns, as: UUID().uuidString)
          else {
            continue
          }
          _ = try deliveries.nextBatch(of: lease, limit: 500)
        }
        delivery.sql(
          """
          UPDATE delivery_leases SET leased_until = UTC_TIMESTAMP(3);
          UPDATE deliveries SET due_at = UTC_TIMESTAMP(3)
          """)
      }
      #expect(delivery.states == "dead no outcome 5 1")
    }
  }

  @Test func aPassThatLostItsLeaseRecordsNothing() throws {
    try withDelivery { delivery throws in
      delivery.insert(1)
      let deliveries = delivery.deliveries
      let shard = try #require(try deliveries.dueShards(of: .apns).first)
      let lost = try #require(try deliveries.claim(shard: shard, of: .apns, as: UUID().uuidString))
      let batch = try #require(try deliveries.nextBatch(of: lost, limit: 500))
      delivery.sql("UPDATE delivery_leases SET leased_until = UTC_TIMESTAMP(3)")
      let isRecorded = try deliveries.record(batch.map { ($0, .delivered) }, under: lost)
      #expect(!isRecorded)
      let heir = try #require(try deliveries.claim(shard: shard, of: .apns, as: UUID().uuidString))
      #expect(try deliveries.record(batch.map { ($0, .delivered) }, under: lost) == false)
      #expect(heir.shard == shard)
      #expect(delivery.states == "open no outcome 1 1")
    }
  }

  @Test func theOutcomeOfAnAttemptIsRecordedOnce() throws {
    try withDelivery { delivery throws in
      delivery.insert(1)
      let deliveries = delivery.deliveries
      let shard = try #require(try deliveries.dueShards(of: .apns).first)
      let lease = try #require(try deliveries.claim(shard: shard, of: .apns, as: UUID().uuidString))
      let batch = try #require(try deliveries.nextBatch(of: lease, limit: 1))
      for status in [429, 503] as [Int64] {
        let outcome = DeliveryOutcome.later(
          delay: .seconds(60), status: status, reason: "Busy", countsAsAttempt: true)
        #expect(try deliveries.record(batch.map { ($0, outcome) }, under: lease))
      }
      #expect(delivery.states == "open 429 Busy 1 1")
    }
  }

  @Test(arguments: [(0, 0), (1, 1), (86_400_000, 1)])
  func aTokenThatWasRegisteredAgainStays(milliseconds: Int, removed: Int) throws {
    try withDelivery { delivery throws in
      let registered = Timestamp(milliseconds: 1_763_712_000_123)
      let time = "FROM_UNIXTIME(1763712000.123)"
      let (turns, account) = (String(repeating: "a", count: 64), String(repeating: "b", count: 64))
      delivery.sql(
        """
        SET time_zone = '+00:00', @device = UUID();
        INSERT INTO ogs_users (id) VALUES (1);
        INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
          VALUES (1, '\(turns)', \(time));
        INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
          SELECT @device, id, 'd', 'D', 'ios', NOW(3), NOW(3) FROM accounts;
        INSERT INTO push_tokens (token, device_id, platform, registered_at)
          VALUES ('\(account)', @device, 'ios', \(time))
        """)
      let died = registered + .milliseconds(milliseconds)
      for token in [turns, account] {
        #expect(try delivery.deliveries.removeDeadToken(token, registeredBefore: died) == removed)
      }
    }
  }

  @Test func whatHasExpiredIsNotSent() throws {
    try withDelivery { delivery throws in
      delivery.insert(2)
      delivery.sql("UPDATE notifications SET expires_at = '2020-01-01'")
      try withAPNs { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report == DeliveryReport(dead: 2))
      } thenLook: { fake, _ throws in
        #expect(try fake.received().isEmpty)
      }
      #expect(delivery.states == "dead expired 1 2")
    }
  }

  @Test func fourProcessesShareOneProviderTokenForFiftyMinutes() throws {
    try withDelivery { delivery throws in
      try withAPNs { fake throws in
        let settings = try fake.settings()
        func tokens(_ count: Int) -> Set<String> {
          let databases = (0..<4).map { _ in
            Database(accountSettings(of: "companion", in: delivery.root))
          }
          let shared = databases.map {
            SharedProviderTokens(database: $0, settings: settings, sealingKeys: TestDelivery.keys)
          }
          nonisolated(unsafe) var seen: Set<String> = []
          let lock = NSLock()
          DispatchQueue.concurrentPerform(iterations: count) { index in
            let token = try? shared[index % 4].currentToken(insteadOf: nil)
            lock.withLock { _ = seen.insert(token ?? "none") }
          }
          return seen
        }
        func age(_ minutes: Int) {
          delivery.sql(
            "UPDATE provider_tokens SET issued_at = UTC_TIMESTAMP(3) - INTERVAL \(minutes) MINUTE")
        }
        let first = tokens(100)
        #expect(first.count == 1 && !first.contains("none"))
        age(49)
        #expect(tokens(50) == first)
        age(51)
        let second = tokens(50)
        #expect(second.count == 1 && second != first && !second.contains("none"))
        let own = SharedProviderTokens(
          database: Database(accountSettings(of: "companion", in: delivery.root)),
          settings: settings, sealingKeys: TestDelivery.keys)
        #expect(
          try own.currentToken(insteadOf: second.first) == second.first, "too young to replace")
        age(21)
        #expect(try own.currentToken(insteadOf: second.first) != second.first)
        #expect(
          delivery.sql("SELECT COUNT(*) FROM provider_tokens WHERE sealed LIKE '%eyJ%'") == "0")
      }
    }
  }

  /// The answer to the COMMIT that reads a batch is lost.
  @Test func aBatchThatWasReadAndNeverSentCountsAsNoLoss() throws {
    try withDelivery { delivery throws in
      delivery.insert(10)
      // Each connection has a thread. The commit of another one, which claims a shard, is not cut.
      let place = Mutex<(reading: Set<pthread_t>, isCut: Bool)>(([], false))
      let proxy = MariaDBProxy(accountSettings(of: "companion", in: delivery.root)) { command in
        let connection = pthread_self()
        return place.withLock { place in
          if case .execute(let sql) = command, sql.contains("SET batch = ?") {
            place.reading.insert(connection)
          }
          guard command == .query("COMMIT"), place.reading.contains(connection), !place.isCut
          else { return .pass }
          place.isCut = true
          return .cutAfter
        }
      }
      try withAPNs { fake throws in
        #expect(throws: DatabaseError.self) {
          try delivery.send(by: fake, through: Database(proxy.settings))
        }
        #expect(place.withLock { $0.isCut })
        _ = try delivery.send(by: fake)
      } thenLook: { fake, _ throws in
        #expect(try fake.received().count == 10)
      }
      #expect(
        delivery.sql("SELECT state, attempts, losses, COUNT(*) FROM deliveries GROUP BY 1, 2, 3")
          == "delivered\t1\t0\t10")
    }
  }
}

/// A whole pass with failing pushes.
@Suite struct PushProblemTests {
  @Test func aProblemStopsNothingElseAndFailsThePass() throws {
    try withDelivery { delivery throws in
      let mail = try delivery.requestCode()
      delivery.sql(
        """
        INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
          VALUES ('\(SampleID.notification)', 'turn', 'e', 'c', UTC_TIMESTAMP(3) + INTERVAL 1 DAY);
        INSERT INTO deliveries (id, notification_id, token, shard)
          VALUES (UUID(), '\(SampleID.notification)', SHA2('x', 256), 1);
        """)
      try withAPNs("answer every 1 403 InvalidProviderToken") { fake throws in
        let companion = delivery.companion(
          mailer: .directory(delivery.folder), apns: try fake.settings())
        #expect(throws: DeliveryProblem.self) { try companion.pass() }
      }
      #expect(delivery.sql("SELECT state FROM outbox WHERE id = '\(mail)'") == "delivered")
      #expect(delivery.sql("SELECT COUNT(*) FROM companion_status") == "1")
      #expect(delivery.sql("SELECT CONCAT_WS(' ', state, attempts) FROM deliveries") == "open 0")
    }
  }
}

private enum SampleID {
  static let notification = "01890a5d-ac96-774b-bcce-b302099a8007"
}

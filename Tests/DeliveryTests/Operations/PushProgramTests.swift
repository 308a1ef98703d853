import Base
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

/// Pushes of `switchboard-companion run`.
@Suite(.serialized) struct PushProgramTests {
  @Test func whereAllTokensAreWrongNoneGoesAndTheRunFails() throws {
    try withDelivery { delivery throws in
      delivery.insert(50)
      // The purge deletes registrations older than a year.
      _ = delivery.sql(
        "UPDATE ogs_registrations SET registered_at = UTC_TIMESTAMP(3) - INTERVAL 1 DAY")
      try withAPNs { other throws in
        try withAPNs("answer every 1 400 BadDeviceToken") { fake throws in
          let companion = try RunningCompanion(
            delivery, "run", changing: fake.environment(other: other))
          companion.process.waitUntilExit()
          #expect(companion.process.terminationReason == .exit)
          #expect(companion.process.terminationStatus == 1)
          #expect(companion.log.contains("the tokens of 50 devices"))
        }
      } thenLook: { other, _ throws in
        #expect(try other.received().isEmpty)
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM ogs_registrations") == "50")
      #expect(delivery.sql("SELECT COUNT(*) FROM companion_status") == "1", "the pass was whole")
    }
  }

  /// Each run fails in the same way; only the first failure is logged.
  @Test func aProblemThatGoesOnIsLoggedOnce() throws {
    try withDelivery { delivery throws in
      delivery.insert(1)
      try withAPNs { fake throws in
        let environment = try fake.environment().merging([
          "APNS_ENDPOINT_OVERRIDE": "https://127.0.0.1:9"
        ]) { $1 }
        let logs = try (1...3).map { _ in
          delivery.letLeasesEnd()
          let companion = try RunningCompanion(delivery, "run", changing: environment)
          try companion.end(expecting: 1)
          return companion.log
        }
        #expect(logs[0].contains("Deliveries by apns: the host of APNs cannot be reached"))
        for log in logs.dropFirst() { #expect(!log.contains("Deliveries by apns: ")) }
      }
    }
  }

  @Test func aTokenOfTheSandboxArrivesThroughTheProgram() throws {
    try withDelivery { delivery throws in
      delivery.insert(30)
      let token = delivery.sql("SELECT token FROM deliveries LIMIT 1")
      try withAPNs { other throws in
        try withAPNs("answer token \(token) 400 BadDeviceToken") { fake throws in
          let companion = try RunningCompanion(
            delivery, "run", changing: fake.environment(other: other))
          try companion.end(expecting: 0)
        }
      } thenLook: { other, _ throws in
        #expect(try other.received().map(\.token) == [token])
      }
      #expect(delivery.states == "delivered 200 1 30")
    }
  }

  /// Four processes do `SWITCHBOARD_ROUNDS` runs, spread over an hour of the database's and Apple's
  /// clocks.
  @Test func inAnHourFourProcessesUseTwoProviderTokens() throws {
    try withDeliveryOnItsOwnServer { delivery throws in
      let start = Timestamp.now()
      let steps = rounds(default: 40) / 4
      try withAPNs(faults: [], clock: start) { fake throws in
        for step in 0..<steps {
          let now = start + .seconds(3600) * step / steps
          try fake.setClock(now)
          let clock = "SET timestamp = \(now.seconds)"
          delivery.sql(
            """
            SET GLOBAL init_connect = '\(clock)'; \(clock);
            INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
              SELECT UUID(), 'turn', CONCAT('\(step) ', seq), 'c', UTC_TIMESTAMP(3) + INTERVAL 1 DAY
              FROM seq_1_to_40;
            INSERT INTO deliveries (id, notification_id, token, shard)
              SELECT UUID(), id, SHA2(event_key, 256), ASCII(SHA2(event_key, 256)) % 16
              FROM notifications WHERE event_key LIKE '\(step) %';
            """)
          let companions = try (0..<4).map { _ in
            try RunningCompanion(delivery, "run", changing: fake.environment())
          }
          for companion in companions { try companion.end(expecting: 0) }
        }
      } thenLook: { fake, _ throws in
        let received = try fake.received()
        #expect(received.count == 40 * steps)
        #expect(received.allSatisfy { $0.status == 200 })
        #expect(Set(received.map(\.providerTokenHash)).count == 2)
        print("\(4 * steps) runs in an hour: 2 provider tokens, \(received.count) requests")
      }
      #expect(delivery.states == "delivered 200 1 \(40 * steps)")
    }
  }

  @Test func aDryRunSaysWhatWouldGoWhereAndDoesNothing() throws {
    try withDelivery { delivery throws in
      let site = try #require(FakeOGS())
      defer { site.end() }
      delivery.insert(3)
      try delivery.deliveries.addLeases(of: .fcm)
      delivery.insertAndroid([androidToken(1)])
      delivery.sql(
        """
        INSERT INTO apns_hosts (token, topic, environment, learned_at)
          SELECT token, '\(FakeAPNs.topic)', 'sandbox', NOW(3) FROM deliveries WHERE channel = 'apns' LIMIT 1;
        INSERT INTO jobs (id, kind, request, request_id) VALUES (UUID(), 'turn_check', '{"user_id":1}', 'r');
        """)
      try delivery.requestCode()
      let tables = delivery.sql(
        """
        SELECT GROUP_CONCAT(TABLE_NAME) FROM information_schema.TABLES
        WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'
        """)
      let before = delivery.sql("CHECKSUM TABLE \(tables)")
      try withAPNs { other throws in
        try withAPNs { fake throws in
          var changes = try fake.environment(other: other)
          changes["SWITCHBOARD_SUBSTITUTES", default: ""] += ",ogs=\(site.url)"
          changes["SWITCHBOARD_ADMINISTRATOR"] = "admin@example.org"
          let companion = try RunningCompanion(delivery, "run --dry-run", changing: changes)
          try companion.end(expecting: 0)
          let lines = companion.output.split(separator: "\n").map(String.init)
          #expect(lines.count == 9)
          #expect(lines.contains("job  turn_check"))
          #expect(lines.contains("mail  ann@example.org  a file in \(delivery.folder)/mails"))
          #expect(lines.contains("poll  user 1  \(site.url)"))
          let pushes = lines.filter { $0.hasPrefix("push  ") }
          #expect(pushes.count { $0.contains("  \(fake.endpoint)  \(FakeAPNs.topic)") } == 2)
          #expect(
            pushes.count { $0.hasSuffix("  nowhere: FCM_SERVICE_ACCOUNT is missing") } == 1)
          #expect(pushes.count { $0.contains("  \(other.endpoint)  \(FakeAPNs.topic)") } == 1)
        } thenLook: { fake, _ throws in
          #expect(try fake.received().isEmpty)
        }
      }
      #expect(site.connections == 0)
      #expect(delivery.sql("CHECKSUM TABLE \(tables)") == before)
      #expect(try !delivery.files.contains("mails"))
    }
  }
}

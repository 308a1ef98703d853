import Administration
import Base
import Foundation
import Store
import Support
import Testing

/// Terminal commands for the outbox: list, send now, or discard.
@Suite struct OutboxAdministrationTests {
  private static let later = "UTC_TIMESTAMP(3) + INTERVAL 1 HOUR"

  /// Inserts one delivery for each of `states`, which also set other columns.
  private func insert(_ states: [String], in delivery: TestDelivery) -> [String] {
    for (number, state) in states.enumerated() {
      delivery.sql(
        """
        SET time_zone = '+00:00'; SET @id = UUID();
        INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at)
          VALUES (@id, 'turn', 'event \(number)', 'c', \(Self.later));
        INSERT INTO deliveries (id, notification_id, token, shard, state, due_at, attempts, losses, status, reason,
            finished_at)
          VALUES (UUID(), @id, REPEAT('\(number)', 64), \(number), '\(state)',
            \(Self.later) - INTERVAL \(number) MINUTE, 7, 2, 503, 'ServiceUnavailable',
            IF('\(state)' = 'open', NULL, NOW(3)));
        """)
    }
    return delivery.sql("SELECT id FROM deliveries ORDER BY shard").split(separator: "\n")
      .map(String.init)
  }

  private func outbox(_ delivery: TestDelivery) -> OutboxAdministration {
    OutboxAdministration(records: delivery.records())
  }

  private func state(_ delivery: TestDelivery, _ id: String) -> String {
    delivery.sql(
      """
      SET time_zone = '+00:00';
      SELECT state, due_at <= NOW(3), attempts, losses, finished_at IS NULL FROM deliveries WHERE id = '\(id)'
      """)
  }

  @Test func whatWaitsIsListedTheLatestDueFirst() throws {
    try withDelivery { delivery throws in
      let mail = try delivery.requestCode()
      let ids = insert(["open", "dead", "open", "delivered"], in: delivery)
      let open = try outbox(delivery).list(.open, limit: 10)
      #expect(try rows("mails", of: open).map { $0["id"] as? String } == [mail])
      #expect(try rows("mails", of: open)[0]["recipient"] as? String == "ann@example.org")
      let waiting = try rows("notifications", of: open)
      #expect(waiting.map { $0["id"] as? String } == [ids[0], ids[2]])
      #expect(waiting[0]["recipient"] as? String == "0000000000000000…")
      #expect(waiting[0]["reason"] as? String == "503 ServiceUnavailable")
      let dead = try outbox(delivery).list(.dead, limit: 10)
      #expect(try rows("notifications", of: dead).map { $0["id"] as? String } == [ids[1]])
      #expect(try rows("mails", of: dead).isEmpty)
      let first = try outbox(delivery).list(.open, limit: 1)
      #expect(try object(of: first)["is_more"] as? Bool == true)
      #expect(try rows("notifications", of: first).map { $0["id"] as? String } == [ids[0]])
      #expect(!open.text.contains("012345"))
    }
  }

  @Test func aNotificationIsDueAtOnceAndOneThatWasGivenUpBeginsAnew() throws {
    try withDelivery { delivery throws in
      let ids = insert(["open", "dead"], in: delivery)
      for (id, expected) in [(ids[0], "open\t1\t7\t2\t1"), (ids[1], "open\t1\t0\t0\t1")] {
        let change = try delivery.rehearseAndDo { try OutboxAdministration(records: $0).retry(id) }
        #expect(change.text == "Retried the message \(id): the next pass sends it.")
        #expect(state(delivery, id) == expected)
      }
      #expect(
        delivery.administratorsEvents == ids.map { "message_retried notification \($0)" })
    }
  }

  @Test func aMailIsDueAtOnce() throws {
    try withDelivery { delivery throws in
      let id = try delivery.requestCode()
      delivery.sql("UPDATE outbox SET due_at = \(Self.later)")
      _ = try delivery.rehearseAndDo { try OutboxAdministration(records: $0).retry(id) }
      #expect(delivery.sql("SELECT due_at <= UTC_TIMESTAMP(3) FROM outbox") == "1")
    }
  }

  @Test func whatIsDiscardedIsNeverSent() throws {
    try withDelivery { delivery throws in
      let mail = try delivery.requestCode()
      let push = insert(["open"], in: delivery)[0]
      for id in [mail, push] {
        _ = try delivery.rehearseAndDo { try OutboxAdministration(records: $0).discard(id) }
      }
      #expect(
        delivery.sql("SELECT state, reason, sealed IS NULL FROM outbox")
          == "dead\tdiscarded by an administrator\t1")
      #expect(delivery.sql("SELECT state, reason FROM deliveries") == "dead\tdiscarded")
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(try delivery.files == [])
      #expect(
        delivery.administratorsEvents == [
          "message_discarded mail \(mail)", "message_discarded notification \(push)",
        ])
    }
  }

  @Test func whatCannotBeSentIsSaid() throws {
    try withDelivery { delivery throws in
      let mail = try delivery.requestCode()
      let ids = insert(["delivered", "dead", "open"], in: delivery)
      delivery.sql(
        "UPDATE notifications SET expires_at = UTC_TIMESTAMP(3) WHERE event_key <> 'event 0'")
      #expect(try outbox(delivery).discard(mail) != nil)
      let before = delivery.dump
      for (id, words) in [
        (ids[0], "The message is delivered already."),
        (ids[1], "The message has expired: it can only be discarded."),
        (ids[2], "The message has expired: it can only be discarded."),
        (mail, "Ask the person to begin again."),
      ] {
        let error = #expect(throws: BadArguments.self) { try outbox(delivery).retry(id) }
        #expect(error?.description.hasSuffix(words) == true, "\(String(describing: error))")
      }
      for id in [ids[0], ids[1], mail] {
        #expect(throws: BadArguments.self) { try outbox(delivery).discard(id) }
      }
      #expect(try outbox(delivery).retry("01890a5d-ac96-774b-bcce-b302099a8fff") == nil)
      #expect(try outbox(delivery).discard("x") == nil)
      #expect(delivery.dump == before)
    }
  }
}

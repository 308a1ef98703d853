import Base
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// A second channel in addition to APNs, declared like a channel of its own folder. Leases,
/// batches, outcomes and purges know the channel only by its declaration.
@Suite struct ChannelTests {
  /// Inserts two deliveries by each of two channels.
  private func insert(_ delivery: TestDelivery) {
    for (channel, token) in [("apns", "a"), ("bells", "b")] {
      delivery.sql(
        """
        INSERT INTO notifications (id, kind, event_key, collapse_id, data, expires_at)
          SELECT UUID(), 'turn', CONCAT('\(channel) ', seq), 'c', '{"ring":true}',
            UTC_TIMESTAMP(3) + INTERVAL 1 DAY FROM seq_1_to_2;
        INSERT INTO deliveries (id, notification_id, token, channel, shard)
          SELECT UUID(), id, CONCAT('\(token)', event_key), '\(channel)', 1 FROM notifications
          WHERE event_key LIKE '\(channel) %';
        """)
    }
  }

  private func states(_ delivery: TestDelivery, _ channel: String) -> String {
    delivery.sql(
      """
      SELECT CONCAT_WS(' ', state, reason, attempts) FROM deliveries WHERE channel = '\(channel)'
      ORDER BY token
      """)
  }

  @Test func itSendsItsOwnDeliveriesAndNoOther() throws {
    try withDelivery { delivery throws in
      insert(delivery)
      let bells = Bells()
      let companion = delivery.companion(mailer: nil, channels: [bells.channel])
      try companion.pass()
      #expect(bells.rung == ["bbells 1", "bbells 2"])
      #expect(states(delivery, "bells") == "delivered 1\ndelivered 1")
      #expect(states(delivery, "apns") == "open 0\nopen 0")
      #expect(
        delivery.sql("SELECT channel, COUNT(*) FROM delivery_leases GROUP BY 1")
          == "apns\t16\nbells\t16")
      try companion.pass()
      #expect(bells.rung.count == 2)
    }
  }

  @Test func itsOutcomesAreRecordedAsThoseOfAPNs() throws {
    try withDelivery { delivery throws in
      insert(delivery)
      let bells = Bells(isBroken: true)
      let companion = delivery.companion(mailer: nil, channels: [bells.channel])
      #expect(throws: DeliveryProblem.self) { try companion.pass() }
      #expect(states(delivery, "bells") == "dead no bell 1\nopen out of tune 1")
    }
  }

  @Test func besideAPNsBothSend() throws {
    try withDelivery { delivery throws in
      insert(delivery)
      delivery.sql("UPDATE deliveries SET token = SHA2(token, 256) WHERE channel = 'apns'")
      let bells = Bells()
      try withAPNs { fake throws in
        let apns = DeliveryChannel.apns(
          try fake.settings(), delivery.companionDatabase, sealingKeys: TestDelivery.keys,
          clock: .still)
        try delivery.companion(mailer: nil, channels: [apns, bells.channel]).pass()
      } thenLook: { fake, _ throws in
        #expect(try fake.received().count == 2)
      }
      #expect(bells.rung.count == 2)
      #expect(delivery.sql("SELECT DISTINCT state FROM deliveries") == "delivered")
    }
  }
}

/// The channel "bells", which remembers the tokens of its deliveries.
private final class Bells: Sendable {
  private let tokens = Mutex<[String]>([])
  /// Whether the first delivery of a run fails for good, and the others fail for now.
  private let isBroken: Bool

  init(isBroken: Bool = false) { self.isBroken = isBroken }

  var rung: [String] { tokens.withLock { $0.sorted() } }

  var channel: DeliveryChannel {
    DeliveryChannel(
      name: Channel("bells"), platforms: [.android], beginRun: { _ in Run(of: self) },
      describe: { _ in "a bell" })
  }

  private final class Run: ChannelRun {
    let isStopped = false
    private(set) var problem: String?
    private let bells: Bells

    init(of bells: Bells) { self.bells = bells }

    func send(
      isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void
    ) {
      while !isOver() {
        let taken = next(10).map(\.delivery).sorted { $0.token < $1.token }
        if taken.isEmpty { return }
        for (index, delivery) in taken.enumerated() {
          bells.tokens.withLock { $0.append(delivery.token) }
          report(SentDelivery(id: delivery.id, outcome: outcome(index)))
        }
      }
    }

    private func outcome(_ index: Int) -> DeliveryOutcome {
      guard bells.isBroken else { return .delivered }
      problem = "the bells are broken"
      if index == 0 { return .dead(status: nil, reason: "no bell") }
      return .later(
        delay: .seconds(60), status: nil, reason: "out of tune", countsAsAttempt: true)
    }

    func finish() -> [DeadToken] { [] }
  }
}

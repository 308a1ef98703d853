import Base
import Delivery
import Foundation
import Store
import Support
import Testing

/// Tests over real TLS with a server that fails like Apple's. Each notification has one outcome,
/// and fails only if Apple refused it.
///
/// `SWITCHBOARD_ROUNDS` sets the number of notifications; with 20,000 of them 200 are in flight.
@Suite(.serialized) struct APNsClientTests {
  static let count = rounds(default: 1_000)
  private static let limits = testLimits { $0.engine.window = max(100, count / 100) }
  /// One of so many notifications loses its connection, so that seven connections are enough.
  private static let every = count * 3 / 20

  private func sendAll(to fake: FakeAPNs) throws -> CountedRun {
    try send(Self.count, to: fake, limits: Self.limits)
  }

  private func tell(_ fault: String, _ sent: CountedRun, _ fake: FakeAPNs) throws {
    let received = try fake.received().count
    let failed = sent.count { $0 == .unanswered || $0 == .notProcessed }
    print(
      "\(fault): \(sent.outcomes.count) sent, \(sent.run.reported) reported,",
      "\(sent.run.accepted) accepted, \(failed) failed, \(sent.run.connections) connections,",
      "\(sent.run.resent) sent again, \(received) received")
  }

  @Test func everythingIsAcceptedOverOneConnection() throws {
    try withAPNs {
      try sendAll(to: $0)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(Self.count))
      #expect(sent.run.accepted == Self.count)
      #expect(sent.run.connections == 1)
      #expect(sent.run.resent == 0)
      let received = try fake.received()
      #expect(Set(received.map(\.id)) == Set(sent.outcomes.keys))
      #expect(received.count == Self.count)
      #expect(Set(received.map(\.providerTokenHash)).count == 1)
      try tell("no fault", sent, fake)
    }
  }

  @Test func everyFieldArrives() throws {
    let token = try #require(PushToken("ab12" + "CD" * 48))
    let whole = try #require(
      APNsNotification(
        id: "0f8fad5b-d9cb-469f-a165-70867728950e", token: token,
        topic: FakeAPNs.topic, collapseID: String(repeating: "c", count: 64),
        expiration: 1_763_712_000, priority: .considerate,
        payload: Array(#"{"aps":{"alert":"\#("ä" * 2000)"}}"#.utf8)))
    try withAPNs { fake in
      let client = APNsClient(
        endpoint: fake.endpoint, trust: try fake.trust(), clock: .still,
        providerToken: { _ in try providerToken() })
      var rest = [whole]
      var outcomes: [APNsOutcome] = []
      _ = client.run(until: .never) { _ in
        defer { rest = [] }
        return rest
      } report: {
        outcomes.append($1)
      }
      #expect(outcomes == [.accepted(apnsID: whole.id)])
    } thenLook: { fake, _ in
      let received = try #require(try fake.received().first)
      #expect(received.id == whole.id)
      #expect(received.token == whole.token.text)
      #expect(received.topic == FakeAPNs.topic)
      #expect(received.collapseID == whole.collapseID)
      #expect(received.expiration == "1763712000")
      #expect(received.priority == "5")
      #expect(Array(received.payload.utf8) == whole.payload)
      #expect(
        try fake.visible() == [whole.token.text: [received.collapseID: received.payload]])
    }
  }

  @Test func withoutWorkThereIsNoConnection() throws {
    try withAPNs { fake in
      let sent = try send(0, to: fake, tokens: { _ in throw CancellationError() })
      #expect(sent.run.connections == 0)
      #expect(sent.isComplete(0))
    }
  }

  @Test(arguments: [("Unregistered", 410), ("BadDeviceToken", 400), ("SomethingNew", 418)])
  func refusalsAmongTheOthersAreReportedAsTheyAre(_ reason: String, _ status: Int) throws {
    let fault = "answer every 10 \(status) \(reason) 1763712000123"
    try withAPNs(fault) {
      try sendAll(to: $0)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(Self.count))
      #expect(sent.run.connections == 1)
      let word = APNsOutcome.Reason(rawValue: reason)
      let expected: APNsOutcome =
        status == 410
        ? .unregistered(reason: word, since: Timestamp(milliseconds: 1_763_712_000_123))
        : .rejected(status: status, reason: word)
      #expect(sent.count { $0 == expected } == Self.count / 10)
      #expect(sent.run.accepted == Self.count * 9 / 10)
      try tell(fault, sent, fake)
    }
  }

  /// The fake's nghttp2 closes the connection at a stream above the limit.
  @Test(arguments: [
    ["streams 1"], ["streams 7", "streams 1000 after 100"],
    ["streams 500", "streams 1 after 300", "streams 500 after 330"], ["streams flap every 400"],
    ["streams flap every 5"], ["streams flap every 50"],
  ])
  func theLimitOfStreamsIsHeededAsItChanges(_ faults: [String]) throws {
    try withAPNs(faults: faults) {
      try sendAll(to: $0)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(Self.count))
      #expect(sent.run.accepted == Self.count)
      #expect(sent.run.connections == 1)
      try tell(faults.joined(separator: ", "), sent, fake)
    }
  }

  @Test func goawayLosesAndRepeatsNothing() throws {
    try withAPNs("goaway every \(Self.every)") {
      try sendAll(to: $0)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(Self.count))
      #expect(sent.run.accepted == Self.count)
      #expect((6...7).contains(sent.run.connections))
      #expect(sent.run.resent <= sent.run.connections * Self.limits.engine.window)
      let received = try fake.received()
      #expect(received.count == Self.count)
      try tell("goaway every \(Self.every)", sent, fake)
    }
  }

  @Test func refusedStreamsAreSentAgainOnTheSameConnection() throws {
    try withAPNs("refuse every 100") {
      try sendAll(to: $0)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(Self.count))
      #expect(sent.run.accepted == Self.count)
      #expect(sent.run.connections == 1)
      #expect(sent.run.resent == Self.count / 99)
      let received = try fake.received()
      #expect(received.count == Self.count)
      try tell("refuse every 100", sent, fake)
    }
  }

  @Test func aServerThatRefusesEachStreamEndsTheRun() throws {
    try withAPNs("refuse every 1") { fake in
      let sent = try send(3, to: fake)
      #expect(sent.isComplete(3))
      #expect(sent.count { $0 == .notProcessed } == 3)
    }
  }

  /// Repeats have the same `apns-id` and collapse id, so each device shows one notification.
  @Test func lostConnectionsLoseNothing() throws {
    try withAPNs("drop every \(Self.every)") {
      try sendAll(to: $0)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(Self.count))
      #expect(sent.count { $0 == .unanswered || $0 == .notProcessed } == 0)
      #expect(sent.run.accepted == Self.count)
      #expect((6...14).contains(sent.run.connections))
      #expect(sent.run.resent <= sent.run.connections * Self.limits.engine.window)
      let visible = try fake.visible()
      #expect(visible.count == Self.count)
      #expect(visible.values.allSatisfy { $0.count == 1 })
      try tell("drop every \(Self.every)", sent, fake)
    }
  }

  @Test(arguments: ["pings 3 every 1", "body 1000000 every 100", "headers 30000 every 100"])
  func oddAnswersDoNoHarm(_ fault: String) throws {
    try withAPNs(fault) {
      try sendAll(to: $0)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(Self.count))
      #expect(sent.run.connections == 1)
      #expect(sent.count { $0 == .unanswered || $0 == .notProcessed } == 0)
      try tell(fault, sent, fake)
    }
  }

  /// Ends the connection (nghttp2 accepts 64 KiB of fields and 1,000 PINGs at once), but not the
  /// run.
  @Test(arguments: ["headers 1000000 every 50", "pings 3000 every 20"])
  func aFloodEndsInNewConnectionsNotInMemory(_ fault: String) throws {
    try withAPNs(fault) { fake in
      let sent = try send(200, to: fake)
      #expect(sent.isComplete(200))
      #expect(sent.run.accepted > 0)
      #expect((2...22).contains(sent.run.connections))
    }
  }

  @Test func lateAnswersAreWaitedFor() throws {
    try withAPNs("late 20 every 3") {
      try sendAll(to: $0)
    } thenLook: { fake, sent in
      #expect(sent.isComplete(Self.count))
      #expect(sent.run.accepted == Self.count)
      try tell("late 20 every 3", sent, fake)
    }
  }

  @Test func anAnswerAfterItsTimeIsNone() throws {
    try withAPNs("mute every 10") { fake in
      let clock = TestClock()
      let limits = testLimits {
        $0.engine.requestLifetime = .seconds(10)
        $0.engine.silence = .unlimited
      }
      let sent = try send(
        100, to: fake, limits: limits, by: clock.limits,
        noting: { reported in
          if reported == 90 { clock.advance(by: .seconds(10)) }
        })
      #expect(sent.isComplete(100))
      #expect(sent.run.accepted == 90)
      #expect(sent.count { $0 == .unanswered } == 10)
      #expect(sent.run.connections == 1)
    }
  }

  @Test func aSilentServerTakesNoMoreThanItsTime() throws {
    try withAPNs("silent after 0") { fake in
      let clock = TestClock()
      clock.run(by: .milliseconds(100))
      let limits = testLimits {
        $0.connecting = .unlimited
        $0.engine.requestLifetime = .milliseconds(300)
        $0.fruitlessConnections = 2
      }
      let sent = try send(Self.count, to: fake, limits: limits, by: clock.limits)
      // One notification on each connection; the others were never taken from their source.
      #expect(sent.isComplete(2))
      #expect(sent.count { $0 == .unanswered } == 2)
      #expect(sent.run.connections == 2)
    }
  }

  @Test func aServerThatStopsInAFrameIsFoundOut() throws {
    try withAPNs("half-frame after 100") { fake in
      let clock = TestClock()
      let limits = testLimits {
        $0.connecting = .unlimited
        $0.engine.requestLifetime = .unlimited
        $0.fruitlessConnections = 2
      }
      let sent = try send(
        Self.count, to: fake, limits: limits, by: clock.limits,
        noting: { reported in
          if reported == 100 { clock.run(by: .seconds(1)) }
        })
      #expect(sent.isComplete(sent.outcomes.count))
      #expect(sent.run.accepted == 100)
      #expect(sent.count { $0 == .unanswered } > 0)
      #expect(sent.run.connections == 3)
    }
  }

  @Test func theTimeOfARunIsBounded() throws {
    try withAPNs("streams 1") { fake in
      let clock = TestClock()
      let end = clock.now + .seconds(4)
      let sent = try send(
        Self.count, to: fake, by: clock.limits, until: end,
        noting: { reported in
          if reported == 5 { clock.advance(by: .seconds(4)) }
        })
      #expect(sent.isComplete(sent.outcomes.count))
      #expect(sent.run.accepted == 5)
      guard case .overdue = sent.run.end else {
        Issue.record("\(sent.run.end)")
        return
      }
    }
  }
}

extension String {
  static func * (text: String, count: Int) -> String { String(repeating: text, count: count) }
}

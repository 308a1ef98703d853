import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The connections of a whole pass.
@Suite struct PushConnectionTests {
  @Test func aPassThatSendsAgainAndAgainOpensOneConnection() throws {
    try withDelivery { delivery throws in
      let site = try #require(FakeOGS())
      defer { site.end() }
      for user in Int64(1)...20 {
        let token = try #require(DeviceToken(hexEncoded(sha256("\(user)"))))
        try delivery.responder().turnRegistrations.add(TurnDevice(token), of: user)
        site.answer(user, .body(full([FakeGame(player: "\(user)")])))
      }
      try withAPNs { fake throws in
        let companion = delivery.companion(
          mailer: nil,
          polling: PollSettings(
            baseURL: site.url, contact: "admin@example.org", requestsPerSecond: 1000,
            pace: PollPace(interval: .seconds(30)), prefix: ""), apns: try fake.settings())
        try companion.pass()
      } thenLook: { fake, _ throws in
        let received = try fake.received()
        #expect(received.count == 20)
        #expect(Set(received.map(\.connection)) == [1])
      }
      // Three batches of at most eight users, with a sending after each batch.
      #expect(delivery.sql("SELECT COUNT(*) FROM deliveries WHERE state = 'delivered'") == "20")
    }
  }

  @Test func threadsOfOneCompanionShareOneConnection() throws {
    try withDelivery { delivery throws in
      delivery.insert(500)
      try withAPNs { fake throws in
        let companion = delivery.companion(mailer: nil, apns: try fake.settings())
        DispatchQueue.concurrentPerform(iterations: 4) { number in
          #expect(throws: Never.self) { try companion.senders[0].send(waiting: number == 0) }
        }
      } thenLook: { fake, _ throws in
        #expect(Set(try fake.received().map(\.connection)) == [1])
      }
      #expect(delivery.states == "delivered 200 1 500")
    }
  }

  @Test func aProblemFoundByUrgentWorkFailsThePass() throws {
    try withDelivery { delivery throws in
      delivery.insert(30)
      try withAPNs("answer every 1 400 BadDeviceToken") { fake throws in
        let companion = delivery.companion(mailer: nil, apns: try fake.settings())
        try companion.doUrgentWork()
        #expect(throws: DeliveryProblem.self) { try companion.pass() }
        try companion.pass()
      }
    }
  }

  @Test func whatIsToStopSendsNothingMore() throws {
    try withDelivery { delivery throws in
      delivery.insert(30)
      try withAPNs { fake throws in
        let companion = delivery.companion(mailer: nil, apns: try fake.settings())
        companion.stopping.set()
        try companion.doUrgentWork()
      } thenLook: { fake, _ throws in
        #expect(try fake.received().isEmpty)
      }
      #expect(
        delivery.sql("SELECT COUNT(*) FROM deliveries WHERE state = 'open' AND attempts = 0")
          == "30")
    }
  }

  /// Apple's side may end the connection between two runs.
  @Test(arguments: [[], ["goaway every 10"], ["drop every 11"]])
  func aConnectionIsKeptFromRunToRunWhileApplesSideLives(_ faults: [String]) throws {
    try withAPNs(faults: faults) { fake throws in
      let connections = try sendInFourRuns(to: fake, testLimits()).connections
      #expect(faults.isEmpty ? connections == 1 : (4...8).contains(connections))
    }
  }

  @Test func anIdleConnectionIsKeptIfItAnswersAPing() throws {
    try withAPNs { fake throws in
      let sent = try sendInFourRuns(to: fake, testLimits { $0.idle = .zero })
      #expect(sent.connections == 1)
    }
  }

  /// The first run's connection dies silently. Nothing is sent on it, so nothing is sent twice.
  @Test func anIdleConnectionThatAnswersNoPingIsReplaced() throws {
    try withAPNs("deaf after 10") { fake throws in
      let clock = TestClock()
      let limits = testLimits {
        $0.idle = .zero
        $0.connecting = .unlimited
        ($0.engine.requestLifetime, $0.engine.silence) = (.unlimited, .unlimited)
      }
      // Only the connection of the first run does not answer, so time passes only until it is replaced.
      let sent = try sendInFourRuns(to: fake, limits, by: clock.limits) { round in
        if round == 1 { clock.run(by: .seconds(1)) }
      } noting: {
        clock.stop()
      }
      #expect(sent.connections == 2)
      #expect(sent.resent == 0)
    } thenLook: { fake, _ throws in
      #expect(try fake.received().count == 40)
    }
  }

  @Test func anOldConnectionIsReplaced() throws {
    try withAPNs { fake throws in
      let sent = try sendInFourRuns(to: fake, testLimits { $0.connectionLifetime = .zero })
      #expect(sent.connections == 4)
    }
  }

  /// Sends ten notifications in each of four runs of one client, which all must be accepted.
  private func sendInFourRuns(
    to fake: FakeAPNs, _ limits: APNsClient.Limits, by clock: LimitClock = .still,
    beforeRound begin: (Int) -> Void = { _ in }, noting note: () -> Void = {}
  ) throws -> (connections: Int, resent: Int) {
    let token = try providerToken()
    let client = APNsClient(
      endpoint: fake.endpoint, trust: try fake.trust(), limits: limits, clock: clock,
      providerToken: { _ in token })
    var total = (connections: 0, resent: 0)
    for round in 0..<4 {
      begin(round)
      var rest = (round * 10..<round * 10 + 10).map { notification($0) }
      let run = client.run(until: .never) { count in
        defer { rest.removeFirst(min(count, rest.count)) }
        return Array(rest.prefix(count))
      } report: { _, _ in
        note()
      }
      #expect(run.reported == 10)
      #expect(run.accepted == 10)
      total.connections += run.connections
      total.resent += run.resent
    }
    return total
  }
}

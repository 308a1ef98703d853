import Base
import Cryptography
import Glibc
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// Tests with a service that is so far away, for the rate that is wanted, that the streams of one connection are too few.
@Suite(.serialized) struct SeveralConnectionsTests {
  private static let count = 3_000
  private static let limits = limits()

  private static func limits(
    _ change: (inout APNsClient.Limits) -> Void = { _ in }
  ) -> APNsClient.Limits {
    testLimits {
      $0.engine.window = 50
      $0.connections = 4
      // By the test's clock, an answer takes at least a nanosecond.
      $0.rate = 1_000_000_000_000
      change(&$0)
    }
  }

  private func client(
    _ fake: FakeAPNs, _ limits: APNsClient.Limits = limits, by clock: LimitClock = .still
  ) throws -> APNsClient {
    let token = try providerToken()
    return APNsClient(
      endpoint: fake.endpoint, trust: try fake.trust(), limits: limits, clock: clock,
      providerToken: { _ in token })
  }

  @Test func aFarServiceIsReachedOverSeveralConnections() throws {
    try withAPNs {
      try send(Self.count, to: $0, limits: Self.limits)
    } thenLook: { fake, sent in
      let isComplete = sent.isComplete(Self.count)
      #expect(isComplete)
      #expect(sent.run.accepted == Self.count)
      #expect(sent.run.connections == 4)
      let received = try fake.received()
      #expect(received.count == Self.count)
      let shares = Dictionary(grouping: received, by: \.connection).mapValues(\.count)
      #expect(shares.count == 4)
      // One full window: the last connection may be made when most are sent.
      #expect(shares.values.allSatisfy { $0 >= 50 }, "\(shares)")
    }
  }

  @Test func fewNotificationsUseOneConnection() throws {
    try withAPNs {
      try send(100, to: $0, limits: Self.limits)
    } thenLook: { _, sent in
      let isComplete = sent.isComplete(100)
      #expect(isComplete)
      #expect(sent.run.connections == 1)
    }
  }

  @Test func noMoreAreOpenedThanAllowed() throws {
    try withAPNs {
      try send(Self.count, to: $0, limits: Self.limits { $0.connections = 2 })
    } thenLook: { _, sent in
      let isComplete = sent.isComplete(Self.count)
      #expect(isComplete)
      #expect(sent.run.connections == 2)
    }
  }

  @Test func theNextRunUsesAllOfThemAgain() throws {
    try withAPNs { fake in
      let client = try client(fake)
      return (0..<2).map { _ in sendAll(with: client) }
    } thenLook: { fake, runs in
      #expect(runs.map(\.accepted) == [Self.count, Self.count])
      #expect(runs.map(\.connections) == [4, 0])
      let second = try fake.received().dropFirst(Self.count)
      #expect(Set(second.map(\.connection)) == [1, 2, 3, 4])
    }
  }

  /// - Parameters:
  ///   - enough: the number of outcomes after which the run is over, once all are claimed; nil for all.
  ///   - claim: called before each claim with the number of notifications claimed so far.
  ///   - note: called after each outcome with the number of outcomes so far.
  private func sendAll(
    _ count: Int = Self.count, with client: APNsClient, enough: Int? = nil,
    noting note: (Int) -> Void = { _ in }, beforeClaim claim: (Int) -> Void = { _ in }
  ) -> APNsRun {
    var (handedOut, reported) = (0, 0)
    let isOver = { handedOut == count && reported == enough }
    return client.run(until: .never, isOver: isOver) { asked in
      claim(handedOut)
      let batch = (handedOut..<min(handedOut + asked, count)).map { notification($0) }
      handedOut += batch.count
      return batch
    } report: { _, _ in
      reported += 1
      note(reported)
    }
  }

  @Test func aServiceThatTakesOneConnectionGetsEverythingOverIt() throws {
    try withAPNs("connections 1") {
      try send(Self.count, to: $0, limits: Self.limits)
    } thenLook: { fake, sent in
      let isComplete = sent.isComplete(Self.count)
      #expect(isComplete)
      #expect(sent.run.accepted == Self.count)
      #expect(sent.run.connections == 2, "the second was tried once")
      let received = try fake.received()
      #expect(received.allSatisfy { $0.connection == 1 })
    }
  }

  /// The connections without it are kept.
  @Test func anAnswerThatIsTooLateEndsItsConnectionOnly() throws {
    let count = Self.count + 1
    try withAPNs("mute every \(count)") { fake in
      let clock = TestClock()
      let limits = Self.limits {
        ($0.connecting, $0.addingConnection, $0.pauseOfAdding) = (.unlimited, .unlimited, .zero)
        ($0.engine.requestLifetime, $0.engine.silence) = (.unlimited, .unlimited)
      }
      let client = try client(fake, limits, by: clock.limits)
      // The run looks at its end when an answer comes, or after a second.
      let first = sendAll(
        count, with: client, enough: Self.count,
        noting: { if $0 == Self.count { clock.run(by: .seconds(1)) } })
      clock.stop()
      return [first, sendAll(Self.count, with: client)]
    } thenLook: { _, runs in
      #expect(runs.map(\.connections) == [4, 1])
      #expect(runs.map(\.accepted) == [Self.count, Self.count])
    }
  }

  @Test func answersThatComeWhileTheNextAreClaimedCount() throws {
    // The service is far away by real time. The test adds to it the time in which it claims.
    try withAPNs("late 100 every 1") { fake in
      let claiming = Mutex(Duration.zero)
      let clock = LimitClock(
        now: { .now + claiming.withLock { $0 } }, sleep: LimitClock.system.sleep)
      // The requests of 50 streams fit into the window of a connection, so that each is sent before the next is claimed.
      let limits = Self.limits { $0.engine.requestLifetime = .seconds(3600) }
      let client = try client(fake, limits, by: clock)
      var hasPaused = false
      return sendAll(
        with: client,
        beforeClaim: { claimed in
          // By then, there are all connections, and each is full. An answered request is in the file.
          guard claimed >= 2_000, !hasPaused else { return }
          hasPaused = true
          wait(for: "the answers to all \(claimed) that are sent") {
            (try? fake.received().count) == claimed
          }
          claiming.withLock { $0 = .seconds(3601) }
        })
    } thenLook: { _, run in
      #expect(run.accepted == Self.count)
      #expect(run.connections == 4)
    }
  }

  /// A stopped run keeps no connection on which Apple would take requests at once.
  @Test(arguments: ["InvalidProviderToken", "TooManyProviderTokenUpdates"])
  func noConnectionWithARefusedTokenIsKept(reason: String) throws {
    let status = reason.hasPrefix("Invalid") ? 403 : 429
    try withAPNs("answer every \(Self.count + 1) \(status) \(reason)") { fake in
      let client = try client(fake)
      return [Self.count, 100, 100].map { sendAll($0, with: client) }
    } thenLook: { fake, runs in
      #expect(runs.map(\.connections) == [4, 0, 1])
      #expect(runs[0].accepted == Self.count)
      #expect(runs[1].accepted < 100)
      #expect(runs[2].accepted == 100)
    }
  }

  @Test func furtherConnectionsThatEndEarlyAreNotTriedAgainAndAgain() throws {
    try withAPNs("lasting 1") {
      try send(Self.count, to: $0, limits: Self.limits)
    } thenLook: { _, sent in
      let isComplete = sent.isComplete(Self.count)
      #expect(isComplete)
      #expect(sent.run.accepted == Self.count)
      #expect(sent.run.connections == 2)
    }
  }

  @Test func aConnectionThatWasOfNoUseIsNotTriedInTheNextRun() throws {
    try withAPNs("connections 1") { fake in
      let client = try client(fake)
      return (0..<2).map { _ in sendAll(with: client) }
    } thenLook: { _, runs in
      #expect(runs.map(\.accepted) == [Self.count, Self.count])
      #expect(runs.map(\.connections) == [2, 0])
    }
  }

  /// Repeats have the same collapse id, so each device shows one notification.
  @Test(arguments: ["drop every 700", "goaway every 700", "deaf after 2500"])
  func whatOneOfThemLosesGoesOverAnother(_ fault: String) throws {
    let clock = TestClock()
    let limits = Self.limits {
      $0.pauseOfAdding = .zero
      $0.connecting = .unlimited
      $0.engine.requestLifetime = .unlimited
      $0.resendsAfterLoss = 10
    }
    try withAPNs(fault) {
      try send(
        Self.count, to: $0, limits: limits, by: clock.limits,
        noting: { reported in
          // All other connections have done their work: the deaf one is found out by its silence.
          if fault.hasPrefix("deaf"), reported == Self.count - limits.engine.window {
            clock.run(by: .seconds(1), atMost: .seconds(30))
          }
        })
    } thenLook: { fake, sent in
      let isComplete = sent.isComplete(Self.count)
      #expect(isComplete)
      #expect(sent.run.accepted == Self.count)
      #expect(sent.run.connections >= 4)
      let visible = try fake.visible()
      #expect(visible.count == Self.count)
      #expect(visible.values.allSatisfy { $0.count == 1 })
    }
  }

  @Test func anExpiredProviderTokenIsRenewedForAllOfThem() throws {
    let first = try providerToken()
    // To the fake, a token that was made earlier is no new one too soon.
    let second = try providerToken(issuedAt: .now() - .seconds(100))
    try withAPNs("answer every 2600 403 ExpiredProviderToken") {
      try send(Self.count, to: $0, limits: Self.limits, tokens: { $0 == nil ? first : second })
    } thenLook: { fake, sent in
      let isComplete = sent.isComplete(Self.count)
      #expect(isComplete)
      #expect(sent.run.accepted == Self.count)
      let received = try fake.received()
      #expect(Set(received.map(\.providerTokenHash)).count == 2)
      let refused = try #require(received.first { $0.status == 403 })
      let later = Dictionary(grouping: received, by: \.connection)
        .mapValues { Set($0.map(\.providerTokenHash)) }
      #expect(later.values.allSatisfy { $0.count == 1 }, "one token for each connection")
      #expect(later.filter { $0.value == [refused.providerTokenHash] }.count == 4)
      #expect(later.count > 4)
    }
  }

  /// `APNS_SEND_CONCURRENCY` limits the requests in flight of a test push, so it uses one connection.
  @Test func aTestPushUsesOneConnection() throws {
    try withDelivery { delivery throws in
      try withAPNs { fake throws in
        #expect(try testPush(to: 0..<20, by: channel(to: fake, delivery), delivery) == 20)
      } thenLook: { fake, _ throws in
        let received = try fake.received()
        #expect(received.count == 20)
        #expect(received.allSatisfy { $0.connection == 1 })
      }
    }
  }

  @Test func laterTestPushesUseTheSameConnection() throws {
    try withDelivery { delivery throws in
      try withAPNs { fake throws in
        let channel = try channel(to: fake, delivery)
        for number in 0..<5 {
          #expect(try testPush(to: number..<number + 1, by: channel, delivery) == 1)
        }
        channel.close()
        #expect(try testPush(to: 5..<6, by: channel, delivery) == 1)
      } thenLook: { fake, _ throws in
        #expect(try fake.received().map(\.connection) == [1, 1, 1, 1, 1, 2])
      }
    }
  }

  @Test func aTestPushDoesWithoutTheConnectionThatAppleHasClosed() throws {
    try withDelivery { delivery throws in
      try withAPNs("goaway every 2") { fake throws in
        let channel = try channel(to: fake, delivery)
        for number in 0..<6 {
          #expect(try testPush(to: number..<number + 1, by: channel, delivery) == 1)
        }
      }
    }
  }

  private func channel(to fake: FakeAPNs, _ delivery: TestDelivery) throws -> DeliveryChannel {
    .apns(
      [try fake.settings()], delivery.companionDatabase, sealingKeys: TestDelivery.keys,
      clock: .still)
  }

  /// Sends a test push to the devices with these numbers.
  ///
  /// - Returns: how many Apple has accepted.
  private func testPush(
    to devices: Range<Int>, by channel: DeliveryChannel, _ delivery: TestDelivery
  ) throws -> Int {
    let sender = DemoPushSender(
      database: delivery.companionDatabase, channels: [channel], missing: [])
    let targets = devices.map {
      PushTarget(
        token: hexEncoded(sha256("\($0)")), platform: .ios, registeredAt: .now(), isEnabled: true)
    }
    return try sender.run(NotificationContent(body: "x"), to: targets).results.count { $0.ok }
  }
}

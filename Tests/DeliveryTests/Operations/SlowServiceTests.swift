import Base
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

/// Services that answer late or never. No request waits forever, and other work continues.
@Suite struct SlowServiceTests {
  /// Sends the due deliveries in one run, one delivery at a time, each with its own call.
  private func sendOneByOne(
    _ delivery: TestDelivery, by channel: DeliveryChannel
  ) throws -> [DeliveryOutcome] {
    try delivery.deliveries.addLeases(of: channel.name)
    var due: [OutgoingDelivery] = []
    for shard in try delivery.deliveries.dueShards(of: channel.name) {
      let claimed = try delivery.deliveries.claim(
        shard: shard, of: channel.name, as: newClaimID())
      let batch = try delivery.deliveries.nextBatch(of: try #require(claimed), limit: 500) ?? []
      let routes = try channel.routes(
        batch.map { PushAddress($0.token, by: channel.name, bundleID: $0.bundleID) })
      due += batch.map {
        OutgoingDelivery(delivery: $0, readAt: .now(), route: routes[$0.token])
      }
    }
    let run = channel.beginRun(.never)
    var outcomes: [DeliveryOutcome] = []
    for delivery in due {
      var waiting = [delivery]
      func next(_ count: Int) -> [OutgoingDelivery] {
        defer { waiting = Array(waiting.dropFirst(count)) }
        return Array(waiting.prefix(count))
      }
      run.send(isOver: { false }, next: next, report: { outcomes.append($0.outcome) })
    }
    #expect(run.finish() == [])
    return outcomes
  }

  private func expectDelivery(
    _ delivery: TestDelivery, of count: Int, by channel: DeliveryChannel
  ) throws {
    let test = Background {
      let outcomes = try sendOneByOne(delivery, by: channel)
      #expect(outcomes == Array(repeating: .delivered, count: count))
    }
    try test.finish()
  }

  // MARK: Several calls of one run

  @Test func aRunOfWebPushSendsAsOftenAsItIsAsked() throws {
    try withBrowsers { browsers in
      for number in 1...20 { browsers.notify(try browsers.subscribe("\(number)")) }
      try expectDelivery(browsers.delivery, of: 20, by: browsers.channel)
    }
  }

  @Test func aRunOfFCMSendsAsOftenAsItIsAsked() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        delivery.insertAndroid((1...5).map(androidToken))
        let channel = DeliveryChannel.fcm(
          try fake.settings(), delivery.companionDatabase, sealingKeys: TestDelivery.keys,
          clock: .still)
        defer { channel.close() }
        try expectDelivery(delivery, of: 5, by: channel)
      }
    }
  }

  @Test(arguments: [1, 2])
  func aRunOfAPNsSendsAsOftenAsItIsAsked(apps: Int) throws {
    try withDelivery { delivery throws in
      delivery.insert(5)
      try withAPNs { fake throws in
        try withAPNs(faults: [], topic: "com.example.other", teamID: "TEAM654321") { other throws in
          let family = try [fake.settings(), other.settings()].prefix(apps)
          let channel = DeliveryChannel.apns(
            Array(family), delivery.companionDatabase, sealingKeys: TestDelivery.keys,
            limits: testLimits(), clock: .still)
          defer { channel.close() }
          try expectDelivery(delivery, of: 5, by: channel)
        }
      }
    }
  }

  // MARK: A slow answer, and an answer that never comes

  @Test func whatFallsDueWhileAPushServiceIsSlowIsSentToo() throws {
    try withBrowsers { browsers in
      let (one, other) = (try browsers.subscribe("a"), try browsers.subscribe("b"))
      browsers.service.gate.close("a")
      browsers.notify(one)
      let pass = Background { try browsers.pass() }
      wait(for: "the request") { browsers.service.gate.isHolding("a") }
      browsers.notify(other, shard: 2)
      browsers.service.gate.open("a")
      try pass.finish()
      for browser in [one, other] { #expect(browsers.state(of: browser) == "delivered 1") }
      browsers.notify(one)
      try browsers.pass()
      #expect(browsers.service.accepted.count == 3)
    }
  }

  @Test func aPushServiceThatDoesNotAnswerIsAskedOnceInARun() throws {
    try withBrowsers { browsers in
      for name in ["a", "b"] {
        browsers.service.gate.close(name)
        browsers.notify(try browsers.subscribe(name))
      }
      let clock = TestClock()
      let channel = browsers.channel(by: clock.limits)
      browsers.delivery.sql("UPDATE deliveries SET shard = 2 LIMIT 1")
      let test = Background {
        let outcomes = try sendOneByOne(browsers.delivery, by: channel)
        #expect(
          outcomes
            == [true, false].map {
              .later(delay: .seconds(60), status: nil, reason: "NoAnswer", countsAsAttempt: $0)
            })
      }
      wait(for: "the request") { ["a", "b"].contains { browsers.service.gate.isHolding($0) } }
      clock.advance(by: .seconds(7))
      try test.finish()
    }
  }

  @Test func whatAPushServiceDoesNotAnswerIsSentWhenItDoes() throws {
    try withBrowsers { browsers in
      let all = [try browsers.subscribe("a"), try browsers.subscribe("b")]
      for browser in all {
        browsers.service.gate.close(browser.name)
        browsers.notify(browser)
      }
      let clock = TestClock()
      let channel = browsers.channel(by: clock.limits)
      let companion = browsers.delivery.companion(mailer: nil, channels: [channel])
      let pass = Background { try companion.pass() }
      wait(for: "both requests") { all.allSatisfy { browsers.service.gate.isHolding($0.name) } }
      clock.advance(by: .seconds(7))
      try pass.finish()
      for browser in all {
        #expect(browsers.state(of: browser).hasPrefix("open NoAnswer"))
        browsers.service.gate.open(browser.name)
      }
      browsers.delivery.letLeasesEnd()
      try browsers.pass()
      for browser in all { #expect(browsers.state(of: browser).hasPrefix("delivered")) }
    }
  }

  /// The request has no end in spite of its limit.
  @Test func aRequestThatDoesNotEndKeepsNobodyWaiting() throws {
    try withBrowsers { browsers in
      browsers.service.gate.close("a")
      browsers.notify(try browsers.subscribe("a"))
      let deliveries = browsers.delivery.deliveries
      try deliveries.addLeases(of: .webPush)
      let lease = try #require(try deliveries.claim(shard: 1, of: .webPush, as: newClaimID()))
      let one = try #require(try deliveries.nextBatch(of: lease, limit: 1)?.first)
      let route = try browsers.channel.routes([PushAddress(one.token, by: .webPush)])[one.token]
      let run = WebPushRun(
        browsers.settings, keys: TestDelivery.keys, until: .never,
        answerLimit: .unlimited, waitLimit: .zero)
      var waiting = [OutgoingDelivery(delivery: one, readAt: .now(), route: route)]
      var sent: [SentDelivery] = []
      func next(_ count: Int) -> [OutgoingDelivery] {
        defer { waiting = [] }
        return waiting
      }
      run.send(isOver: { false }, next: next, report: { sent.append($0) })
      #expect(
        sent.map(\.outcome) == [
          .later(delay: .seconds(60), status: nil, reason: "NoAnswer", countsAsAttempt: true)
        ])
      #expect(run.isStopped)
      #expect(run.problem == "requests to push services do not end")
    }
  }

  @Test func aPhoneThatGoogleIsSilentAboutKeepsTheOthersNoLonger() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        delivery.insertAndroid((1...16).map(androidToken))
        fake.gate.close(androidToken(1))
        let clock = TestClock()
        let tokens = GoogleTokens(
          database: delivery.companionDatabase, settings: try fake.settings(),
          sealingKeys: TestDelivery.keys, clock: .still)
        let client = FCMClient(
          try fake.settings(), tokens, answerLimit: .seconds(7), clock: clock.limits)
        let refusedTokens = RefusedTokens(delivery.companionDatabase)
        let channel = DeliveryChannel(
          name: .fcm, platforms: [.android],
          beginRun: { FCMRun(client, until: $0, refusedTokens: refusedTokens) },
          describe: { _ in "" })
        let run = Background {
          let report = try delivery.send(by: channel)
          #expect(report.problem == nil)
          // The next delivery on the same connection, if any, is not sent to the silent server.
          #expect((1...2).contains(report.later) && report.later + report.delivered == 16)
        }
        wait(for: "the end of all other requests") {
          fake.gate.isHolding(androidToken(1)) && client.keptCount == FCMClient.concurrency - 1
        }
        clock.advance(by: .seconds(7))
        try run.finish()
        let open = "SELECT reason, attempts FROM deliveries WHERE token = '\(androidToken(1))'"
        #expect(delivery.sql(open) == "no answer\t1")
        fake.gate.open(androidToken(1))
        delivery.letLeasesEnd()
        #expect(try delivery.send(by: fake).later == 0)
        #expect(delivery.sql("SELECT DISTINCT state FROM deliveries") == "delivered")
      }
    }
  }

  /// Without the stop, the run would wait for Apple on four connections.
  @Test func aStopEndsARunToWhichAppleSaysNothing() throws {
    try withDelivery { delivery throws in
      delivery.insert(2)
      delivery.sql("UPDATE deliveries SET shard = 3")
      try withAPNs("silent after 1") { fake throws in
        let stopping = Flag()
        let clock = TestClock()
        let channel = DeliveryChannel.apns(
          try fake.settings(), delivery.companionDatabase, sealingKeys: TestDelivery.keys,
          limits: testLimits(), clock: clock.limits)
        let database = delivery.companionDatabase
        let run = Background {
          let report = try DeliveryRun(
            database, channel, until: .now + .seconds(60), stopping: stopping
          ).send()
          #expect(report.problem == nil)
        }
        let inHand = "SELECT COUNT(*) FROM delivery_leases WHERE batch <> '[]'"
        wait(for: "a batch in hand") { delivery.sql(inHand) == "1" }
        stopping.set()
        clock.run(by: .seconds(1))
        try run.finish()
        channel.close()
        // The reason depends on whether the stop came before or after Apple got the deliveries.
        let others = delivery.sql(
          """
          SELECT DISTINCT CONCAT_WS(' ', state, reason, attempts) FROM deliveries
          WHERE state <> 'delivered'
          """)
        for other in others.split(separator: "\n") {
          #expect(["open no answer 1", "open not taken 0", "open 0"].contains(other))
        }
        #expect(delivery.sql(inHand) == "0")
      }
    }
  }

  @Test func aStopEndsAMailCommandThatHangs() throws {
    try withFolder { folder throws in
      let (stopping, clock) = (Flag(), TestClock())
      let mailer = Mailer.command(
        try folder.script("echo $$ > \(folder.folder)/pid; exec sleep 600"))
      let mail = Background {
        let outcome = mailer.send([1], named: "id", stopping: stopping, clock: clock.limits)
        guard case .failed(let reason) = outcome else {
          Issue.record("it did not fail")
          return
        }
        #expect(reason == "the companion was stopped before the mail command ended")
      }
      wait(for: "the mail command") { (try? folder.text("pid").hasSuffix("\n")) == true }
      stopping.set()
      // Five seconds from the notice of the stop; then the killed command has all time to end.
      clock.run(by: .seconds(1), atMost: .seconds(7))
      try mail.finish()
      let pid = try #require(pid_t(folder.text("pid").dropLast()))
      #expect(kill(pid, 0) == -1)
    }
  }

  @Test func workThatDoesNotEndIsLeft() throws {
    try withFolder { _ throws in
      let gate = DispatchSemaphore(value: 0)
      let began = DispatchSemaphore(value: 0)
      let worker = WakeableThread("slow things", FailureLog(Evidence.log(of: "worker"))) {
        began.signal()
        gate.wait()
      }
      worker.wake()
      began.wait()
      #expect(!worker.waitUntilIdle(until: .now))
      let failure = worker.finish(until: .now)
      #expect(failure.map { "\($0)" } == "The worker for slow things has not ended in time")
      gate.signal()
    }
  }
}

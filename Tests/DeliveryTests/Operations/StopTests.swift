import Base
import Cryptography
import Foundation
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

/// A stop ends the companion within ten seconds, whatever service does not answer.
@Suite struct StopTests {
  /// A companion that works in the background.
  private struct Working {
    let companion: Companion
    let clock: TestClock
    let stop = Latch()
    let work: Background

    init(_ command: String, _ clock: TestClock, _ companion: Companion) {
      (self.companion, self.clock) = (companion, clock)
      work = Background { [stop] in
        if command == "watch" {
          companion.watch(
            every: .seconds(86_400), wakeSocket: nil, stop: stop, stopLimit: .unlimited)
        } else {
          #expect(companion.run(wakeSocket: nil, stop: stop, stopLimit: .unlimited))
        }
      }
    }

    func end() throws {
      stop.set()
      wait(for: "the companion's notice of the stop") { companion.stopping.isSet }
      // The limit of each request.
      clock.advance(by: HTTPClient.Limits().total)
      // What is left to a mail command and to Apple's answers, which begins with the stop.
      clock.run(by: .seconds(1))
      try work.finish()
    }
  }

  @Test func eachLimitOfTimeIsShorterThanThatOfAStop() {
    #expect(HTTPClient.Limits().total < Companion.stopLimit)
    #expect(APNsClient.Limits().answersAtEnd < Companion.stopLimit)
    #expect(Companion.stopLimit < .seconds(10))
  }

  @Test func whileOnlineGoIsSilent() throws {
    try withPolling { polling throws in
      try polling.register()
      polling.site.answer(7, .silence)
      let clock = TestClock()
      let working = Working("watch", clock, polling.companion(clock: clock.limits))
      wait(for: "the poll") { polling.site.isBeingAsked(7) }
      try working.end()
    }
  }

  @Test(arguments: ["watch", "run"])
  func whileAMailCommandHangs(_ command: String) throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      let script = try delivery.script("echo $$ > \(delivery.folder)/pid; exec sleep infinity")
      let clock = TestClock()
      let working = Working(
        command, clock, delivery.companion(mailer: .command(script), clock: clock.limits))
      wait(for: "the mail command") { (try? delivery.text("pid").hasSuffix("\n")) == true }
      try working.end()
      #expect(
        delivery.sql("SELECT state, reason FROM outbox")
          == "open\tthe companion was stopped before the mail command ended")
    }
  }

  @Test func whileAppleIsSilent() throws {
    try withDelivery { delivery throws in
      delivery.insert(2)
      delivery.sql("UPDATE deliveries SET shard = 3")
      try withAPNs("silent after 1") { fake throws in
        let clock = TestClock()
        let working = Working(
          "watch", clock,
          delivery.companion(mailer: nil, apns: try fake.settings(), clock: clock.limits))
        let inHand = "SELECT COUNT(*) FROM delivery_leases WHERE batch <> '[]'"
        wait(for: "a batch in hand") { delivery.sql(inHand) == "1" }
        try working.end()
        #expect(delivery.sql(inHand) == "0")
      }
    }
  }

  @Test func whileGoogleIsSilent() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        delivery.insertAndroid((1...16).map(androidToken))
        for number in 1...16 { fake.gate.close(androidToken(number)) }
        let clock = TestClock()
        let channel = DeliveryChannel.fcm(
          try fake.settings(), delivery.companionDatabase, sealingKeys: TestDelivery.keys,
          clock: clock.limits)
        let working = Working(
          "watch", clock,
          delivery.companion(mailer: nil, channels: [channel], clock: clock.limits))
        wait(for: "eight requests") {
          (1...16).count { fake.gate.isHolding(androidToken($0)) } == FCMClient.concurrency
        }
        try working.end()
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM delivery_leases WHERE batch <> '[]'") == "0")
    }
  }

  @Test(arguments: ["watch", "run"])
  func whileTheSiteIsSilent(_ command: String) throws {
    try withDelivery { delivery throws in
      let site = try #require(LoopbackListener())
      defer { site.end() }
      let isAsked = Flag()
      site.begin { connection in
        isAsked.set()
        var byte: UInt8 = 0
        while read(connection, &byte, 1) == 1 {}
        close(connection)
      }
      let clock = TestClock()
      let url = "http://127.0.0.1:\(site.port)"
      let working = Working(
        command, clock, delivery.companion(mailer: nil, publicURL: url, clock: clock.limits))
      wait(for: "the look at the site") { isAsked.isSet }
      try working.end()
      #expect(delivery.sql("SELECT COUNT(*) FROM problems WHERE name = 'site'") == "0")
    }
  }

  @Test(arguments: ["watch", "run"])
  func whileAPushServiceOfBrowsersIsSilent(_ command: String) throws {
    try withBrowsers { browsers in
      browsers.service.gate.close("a")
      let browser = try browsers.subscribe("a")
      browsers.notify(browser)
      let clock = TestClock()
      let channel = browsers.channel(by: clock.limits)
      let working = Working(
        command, clock,
        browsers.delivery.companion(mailer: nil, channels: [channel], clock: clock.limits))
      wait(for: "the request") { browsers.service.gate.isHolding("a") }
      try working.end()
      #expect(browsers.state(of: browser) == "open NoAnswer 1")
    }
  }
}

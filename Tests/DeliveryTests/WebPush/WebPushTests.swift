import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Deliveries to browsers, through a push service that refuses like real ones.
@Suite struct WebPushTests {
  @Test func theBrowserReadsWhatWasSentAndTheServiceCannot() throws {
    try withBrowsers { browsers in
      let (ann, bob) = (try browsers.subscribe("a"), try browsers.subscribe("b"))
      let payload = #"{"aps":{"alert":{"title":"Go","body":"Zug ✓"}},"data":{"game":7}}"#
      for browser in [ann, bob] {
        browsers.notify(browser, title: "Go", "Zug ✓", data: #"{"data":{"game":7}}"#)
      }
      try browsers.pass()
      let messages = browsers.service.accepted.sorted { $0.subscription < $1.subscription }
      try #require(messages.map(\.subscription) == ["a", "b"])
      #expect(try ann.read(messages[0]) == payload)
      #expect(try bob.read(messages[1]) == payload)
      #expect(throws: EncryptedContent.Malformed.self) { try ann.read(messages[1]) }
      let lifetime = try #require(messages[0].fields["ttl"].flatMap { Int($0) })
      #expect(3500...3601 ~= lifetime)  // two clocks in whole seconds
      #expect(messages[0].fields["urgency"] == "high")
      #expect(
        messages[0].fields["topic"]
          == String(base64URLEncoded(sha256("turns-7")).prefix(32)))
      for browser in [ann, bob] { #expect(browsers.state(of: browser) == "delivered 1") }
    }
  }

  private static let answers: [(FakePushService.Fault, String, isKept: Bool)] = [
    (.init(404), "dead SubscriptionGone 1", false), (.init(410), "dead SubscriptionGone 1", false),
    (.init(413), "dead PayloadTooLarge 1", true), (.init(400), "dead HTTP_400 1", true),
    (.init(302, fields: "Location: https://127.0.0.1:9/\r\n"), "dead HTTP_302 1", true),
    (.init(429), "open TooManyRequests 1", true), (.init(500), "open HTTP_500 1", true),
    (.init(503), "open HTTP_503 1", true), (.init(202), "delivered 1", true),
  ]

  @Test(arguments: answers)
  func everyAnswerHasItsConsequence(
    _ fault: FakePushService.Fault, _ state: String, isKept: Bool
  ) throws {
    try withBrowsers { browsers in
      let (one, other) = (try browsers.subscribe("a"), try browsers.subscribe("b"))
      browsers.service.play(fault, for: "a")
      browsers.notify(one)
      browsers.notify(other)
      try browsers.pass()
      #expect(browsers.state(of: one) == state)
      #expect(browsers.isKnown(one) == isKept)
      #expect(browsers.state(of: other) == "delivered 1")
      let tokens = browsers.delivery.sql("SELECT COUNT(*) FROM push_tokens")
      #expect(tokens == (isKept ? "2" : "1"))
    }
  }

  @Test func aServiceSaysHowLongToWait() throws {
    try withBrowsers { browsers in
      let browser = try browsers.subscribe("a")
      browsers.service.play(.init(429, fields: "Retry-After: 7200\r\n"), for: "a")
      browsers.notify(browser)
      try browsers.pass()
      let wait = browsers.delivery.sql(
        "SELECT TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(3), due_at) FROM deliveries")
      #expect(["118", "119", "120"].contains(wait))
    }
  }

  /// 401 and 403 concern our key: no subscription is removed, and an administrator gets an alert.
  @Test func anotherVAPIDKeyIsAProblemAndCostsNoSubscription() throws {
    try withBrowsers(subscribedFor: P256PrivateKey.generate()) { browsers in
      let browser = try browsers.subscribe("a")
      browsers.notify(browser)
      let problem = #expect(throws: DeliveryProblem.self) { try browsers.pass() }
      #expect(problem?.description.contains("VAPID") == true)
      #expect(browsers.state(of: browser) == "open VapidKeyRefused 1")
      #expect(browsers.isKnown(browser))
    }
  }

  /// The refusal may come before the first accepted message or after it.
  @Test(arguments: [0, 8])
  func aSubscriptionForAnotherKeyIsRemovedIfTheServiceAcceptsOurs(position: Int) throws {
    try withBrowsers { browsers in
      let all = try (0...8).map { try browsers.subscribe("\($0)") }
      browsers.service.play(.init(403), for: all[position].name)
      for browser in all { browsers.notify(browser) }
      try browsers.pass()
      for (index, browser) in all.enumerated() {
        let isOther = index == position
        let expected = isOther ? "dead SubscribedWithOtherKey 1" : "delivered 1"
        #expect(browsers.state(of: browser) == expected)
        #expect(browsers.isKnown(browser) == !isOther)
      }
      #expect(
        browsers.delivery.sql("SELECT reason FROM problems WHERE name = 'webpush'") == "")
    }
  }

  /// The reason in `status` while our key is refused, while the service does not answer, and
  /// afterwards.
  @Test func aFailureIsToldUntilABrowserGetsAMessage() throws {
    func reason(_ browsers: Browsers) -> String {
      browsers.delivery.sql("SELECT reason FROM problems WHERE name = 'webpush'")
    }
    try withBrowsers { browsers in
      let (one, other) = (try browsers.subscribe("a"), try browsers.subscribe("b"))
      browsers.service.play(.init(403), for: "a")
      browsers.notify(one)
      #expect(throws: DeliveryProblem.self) { try browsers.pass() }
      #expect(reason(browsers).hasPrefix("Notifications are not sent: A push service answers 403:"))
      browsers.service.play(.init(404), for: "b")
      browsers.notify(other)
      try browsers.pass()
      #expect(!reason(browsers).isEmpty, "what a service says of one browser is no proof")
      let third = try browsers.subscribe("c")
      browsers.notify(third)
      try browsers.pass()
      #expect(reason(browsers) == "")
    }
    try withBrowsers(isTrusted: false) { browsers in
      browsers.notify(try browsers.subscribe("a"))
      try browsers.pass()
      #expect(reason(browsers) == "Notifications are not sent: the service does not answer.")
    }
  }

  @Test func theCheckNamesAServiceThatIsNotReached() throws {
    try withBrowsers { browsers in
      let companion = browsers.delivery.companion(mailer: nil, channels: [])
      func line(_ host: String) -> String {
        companion.webPushCheck(of: host, trusting: browsers.service.certificatesFile).description
      }
      #expect(
        line(browsers.service.host)
          == "ok       \(browsers.service.origin) is reached, for browsers")
      #expect(
        line("127.0.0.1:9").hasPrefix(
          "unset    notifications are not sent to browsers by https://127.0.0.1:9: it is not reached: "
        )
      )
      #expect(browsers.service.accepted.isEmpty)
    }
  }

  @Test func aSubjectThatIsNoAddressIsRefused() throws {
    try withBrowsers(subject: "nobody") { browsers in
      let browser = try browsers.subscribe("a")
      browsers.notify(browser)
      #expect(throws: DeliveryProblem.self) { try browsers.pass() }
      #expect(browsers.service.accepted.isEmpty)
    }
  }

  @Test func noOtherHostThanTheAllowedOnesIsAsked() throws {
    try withBrowsers(isAllowed: false) { browsers in
      let before = browsers.service.requests
      let browser = try browsers.subscribe("a")
      browsers.notify(browser)
      try browsers.pass()
      #expect(browsers.state(of: browser) == "dead UnknownPushService 1")
      #expect(browsers.service.requests == before)
    }
  }

  @Test func aServiceWithoutATrustedCertificateIsNotSpokenTo() throws {
    try withBrowsers(isTrusted: false) { browsers in
      let before = browsers.service.requests
      let browser = try browsers.subscribe("a")
      browsers.notify(browser)
      try browsers.pass()
      #expect(browsers.state(of: browser) == "open NoAnswer 1")
      #expect(browsers.service.requests == before)
    }
  }

  @Test func aSubscriptionInTheRowOfAnotherIsNotOpened() throws {
    try withBrowsers { browsers in
      let (one, other) = (try browsers.subscribe("a"), try browsers.subscribe("b"))
      browsers.delivery.sql(
        """
        SELECT sealed INTO @theirs FROM web_subscriptions WHERE token = '\(other.token)';
        UPDATE web_subscriptions SET sealed = @theirs WHERE token = '\(one.token)';
        """)
      browsers.notify(one)
      try browsers.pass()
      #expect(browsers.state(of: one) == "open SealedForOtherKeys 0")
      #expect(
        browsers.delivery.sql("SELECT COUNT(*) FROM problems WHERE name = 'webpush'") == "0",
        "no service was asked")
      #expect(browsers.service.accepted.isEmpty)
    }
  }

  @Test func whatDoesNotFitIntoAMessageIsNotSent() throws {
    try withBrowsers { browsers in
      let (fits, large) = (try browsers.subscribe("a"), try browsers.subscribe("b"))
      let frame = #"{"aps":{"alert":""}}"#.utf8.count
      browsers.notify(fits, String(repeating: "x", count: 3993 - frame))
      browsers.notify(large, String(repeating: "x", count: 3994 - frame))
      try browsers.pass()
      #expect(browsers.service.accepted.map(\.body.count) == [4096])
      #expect(browsers.state(of: fits) == "delivered 1")
      #expect(browsers.state(of: large) == "dead PayloadTooLarge 1")
    }
  }

  @Test func aTestSaysWhatTheServiceSaid() throws {
    try withBrowsers { browsers in
      let (one, gone) = (try browsers.subscribe("a"), try browsers.subscribe("b"))
      browsers.service.play(.init(410), for: "b")
      let now = Timestamp.now()
      let targets = [one, gone].map {
        PushTarget(token: $0.token, platform: .web, registeredAt: now, isEnabled: true)
      }
      let sender = DemoPushSender(
        database: browsers.delivery.companionDatabase, channels: [browsers.channel], missing: [])
      let outcome = try sender.run(NotificationContent(body: "Test"), to: targets)
      #expect(outcome.results.map(\.ok) == [true, false])
      #expect(outcome.results.map(\.status) == [201, 410])
      #expect(outcome.results.map(\.reason) == [nil, "SubscriptionGone"])
      #expect(outcome.staleTokensRemoved == 1)
      #expect(try one.read(#require(browsers.service.accepted.first)).contains("Test"))
      #expect(!browsers.isKnown(gone))
    }
  }

  @Test func aPassSealsSubscriptionsUnderTheNewestKey() throws {
    try withBrowsers { browsers in
      let browser = try browsers.subscribe("a")
      let both = try BoxKeys(
        parsing: "c2:\(base64URLEncoded([UInt8](repeating: 9, count: 32))),"
          + "c1:\(base64URLEncoded([UInt8](repeating: 7, count: 32)))")
      let keys = CompanionKeys(both)
      try browsers.delivery.companion(mailer: nil, keys: keys, channels: []).pass()
      let sealed = browsers.delivery.sql("SELECT sealed FROM web_subscriptions")
      #expect(sealed.hasPrefix("box:c2."))
      let context = WebSubscription.sealingContext(of: browser.token)
      #expect(try !keys.open(sealed, authenticating: context).isEmpty)
    }
  }
}

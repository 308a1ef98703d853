import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Notifications to Android, from the outbox to the fate of the token.
@Suite struct FCMChannelTests {
  @Test func dueNotificationsAreDelivered() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        delivery.insertAndroid((1...20).map(androidToken))
        #expect(try delivery.send(by: fake) == DeliveryReport(delivered: 20))
        #expect(delivery.states == "delivered 200 1 20")
        #expect(Set(fake.received.map(\.token)) == Set((1...20).map(androidToken)))
        #expect(fake.exchanges == 1)
        #expect(delivery.sql("SELECT sealed LIKE 'box:%' FROM fcm_access_tokens") == "1")
      }
    }
  }

  @Test func aTokenThatNoAppHasAnyMoreGoes() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        delivery.insertAndroid([androidToken(1), androidToken(2)])
        fake.refuse(androidToken(1), with: .init(404, "UNREGISTERED", google: "NOT_FOUND"))
        let report = try delivery.send(by: fake)
        #expect(report == DeliveryReport(delivered: 1, dead: 1, tokensRemoved: 1))
        #expect(delivery.sql("SELECT token FROM push_tokens") == androidToken(2))
        #expect(delivery.sql("SELECT token FROM dead_tokens") == androidToken(1))
      }
    }
  }

  /// The rule is more than 20 tokens, and more than a tenth of the run.
  @Test(arguments: [
    (2, 40, true), (20, 40, true), (21, 40, false), (30, 40, false), (21, 210, true),
    (21, 209, false),
  ])
  func aTokenOfAnotherProjectGoesUnlessThatIsTheRule(
    count: Int, of total: Int, isRemoved: Bool
  ) throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        let tokens = (1...total).map(androidToken)
        delivery.insertAndroid(tokens)
        for token in tokens.prefix(count) {
          fake.refuse(token, with: .init(403, "SENDER_ID_MISMATCH", google: "PERMISSION_DENIED"))
        }
        let report = try delivery.send(by: fake)
        let removed = isRemoved ? count : 0
        #expect(report.tokensRemoved == removed)
        #expect((report.problem == nil) == isRemoved)
        #expect(delivery.sql("SELECT COUNT(*) FROM push_tokens") == "\(total - removed)")
      }
    }
  }

  @Test(arguments: [
    (FakeFCM.Refusal(429, "QUOTA_EXCEEDED", retryAfter: 600), 600),
    (FakeFCM.Refusal(503, "UNAVAILABLE", retryAfter: 5), 60),
    (FakeFCM.Refusal(500, "INTERNAL"), 60),
  ])
  func whatGoogleCannotTakeNowWaits(refusal: FakeFCM.Refusal, seconds: Int) throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        delivery.insertAndroid([androidToken(1), androidToken(2)])
        fake.refuse(androidToken(1), with: refusal)
        let began = delivery.sql(databaseClock)
        let report = try delivery.send(by: fake)
        #expect((report.delivered, report.later) == (1, 1))
        let isAhead = isAhead(
          "due_at", in: "deliveries WHERE state = 'open' AND attempts = 1",
          by: seconds...seconds, since: began)
        #expect(delivery.sql(isAhead) == "1")
      }
    }
  }

  @Test func aRefusedAccessTokenIsRenewedOnce() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        delivery.insertAndroid([androidToken(1)])
        _ = try delivery.send(by: fake)
        fake.revokeAccessTokens()
        delivery.sql(
          """
          UPDATE deliveries SET state = 'open', finished_at = NULL, due_at = UTC_TIMESTAMP(3)
          """)
        #expect(try delivery.send(by: fake) == DeliveryReport(delivered: 1))
        #expect(fake.exchanges == 2)
      }
    }
  }

  @Test func whereGoogleRefusesOurAccountTheWorkWaitsAndSomebodyIsTold() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        fake.refuseExchanges("invalid_grant")
        delivery.insertAndroid((1...40).map(androidToken))
        let report = try delivery.send(by: fake)
        #expect(report.delivered == 0)
        #expect(
          report.problem?.contains("Google refuses the service account: invalid_grant") == true)
        #expect(delivery.sql("SELECT COUNT(*) FROM push_tokens") == "40")
        #expect(
          delivery.sql("SELECT COUNT(*) FROM deliveries WHERE state = 'open' AND attempts = 0")
            == "40")
        #expect(fake.received.isEmpty)
      }
    }
  }

  @Test func aMalformedTokenGoes() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        let malformed = "not.a.token.of.firebase"
        delivery.insertAndroid([malformed, androidToken(1)])
        let report = try delivery.send(by: fake)
        #expect(report == DeliveryReport(delivered: 1, dead: 1, tokensRemoved: 1))
        #expect(delivery.states == "dead 400 INVALID_ARGUMENT 1 1\ndelivered 200 1 1")
      }
    }
  }

  @Test func aCompanionSendsToEachPlatformByItsChannel() throws {
    try withDelivery { delivery throws in
      try withFCM { fcm throws in
        delivery.insert(1)
        delivery.insertAndroid([androidToken(1)])
        try withAPNs { apple throws in
          let channels = [
            DeliveryChannel.apns(
              try apple.settings(), delivery.companionDatabase, sealingKeys: TestDelivery.keys,
              clock: .still),
            DeliveryChannel.fcm(
              try fcm.settings(), delivery.companionDatabase, sealingKeys: TestDelivery.keys,
              clock: .still),
          ]
          try delivery.companion(mailer: nil, polling: nil, channels: channels).pass()
        } thenLook: { apple, _ throws in
          #expect(try apple.received().count == 1)
        }
        #expect(fcm.received.map(\.token) == [androidToken(1)])
        #expect(delivery.sql("SELECT DISTINCT state FROM deliveries") == "delivered")
      }
    }
  }

  @Test func aTestGoesToAndroidToo() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        fake.refuse(androidToken(2), with: .init(404, "UNREGISTERED", google: "NOT_FOUND"))
        delivery.insertAndroid([androidToken(1), androidToken(2)])
        let channel = DeliveryChannel.fcm(
          try fake.settings(), delivery.companionDatabase, sealingKeys: TestDelivery.keys,
          clock: .still)
        let sender = DemoPushSender(
          database: delivery.companionDatabase, channels: [channel], missing: [])
        let targets = [1, 2].map {
          PushTarget(
            token: androidToken($0), platform: .android, registeredAt: .now(), isEnabled: true)
        }
        let outcome = try sender.run(
          NotificationContent(body: "x", data: Array(#"{"data":{"n":1}}"#.utf8)), to: targets)
        #expect(outcome.results.map(\.ok) == [true, false])
        #expect(outcome.results.map(\.status) == [200, 404])
        #expect(outcome.results[1].reason == "UNREGISTERED")
        #expect(outcome.staleTokensRemoved == 1)
        #expect(delivery.sql("SELECT token FROM push_tokens") == androidToken(1))
      }
    }
  }
}

import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

/// Apple's two hosts: a token that one host rejects may belong to the other host.
@Suite struct PushHostTests {
  /// Refusals of ten tokens by the first host.
  private func refusals(_ delivery: TestDelivery, _ answer: String = "400 BadDeviceToken")
    -> [String]
  {
    delivery.sql("SELECT token FROM deliveries ORDER BY token LIMIT 10").split(separator: "\n")
      .map { "answer token \($0) \(answer)" }
  }

  private let found = "SELECT COUNT(*) FROM apns_hosts WHERE environment = 'sandbox'"
  private let registered = "SELECT COUNT(*) FROM ogs_registrations"

  @Test(arguments: ["400 BadDeviceToken", "400 DeviceTokenNotForTopic"])
  func aTokenOfTheOtherHostIsSentThereAndDirectlyTheNextTime(_ answer: String) throws {
    try withDelivery { delivery throws in
      delivery.insert(100)
      let refusals = refusals(delivery, answer)
      try withAPNs { other throws in
        try withAPNs(faults: refusals) { fake throws in
          #expect(
            try delivery.send(by: fake, elsewhere: other) == DeliveryReport(delivered: 100))
          #expect(delivery.sql(found) == "10")
          delivery.sql(
            """
            UPDATE deliveries SET state = 'open', finished_at = NULL, status = NULL, attempts = 0,
              due_at = UTC_TIMESTAMP(3)
            """)
          #expect(
            try delivery.send(by: fake, elsewhere: other) == DeliveryReport(delivered: 100))
        } thenLook: { fake, _ throws in
          let received = try fake.received()
          #expect(received.count == 100 + 90)
          #expect(received.count { $0.status == 400 } == 10)
        }
      } thenLook: { other, _ throws in
        let received = try other.received()
        #expect(received.count == 20)
        #expect(received.allSatisfy { $0.status == 200 })
        #expect(Set(received.map(\.token)).count == 10)
        #expect(Set(received.map(\.connection)).count == 2, "one for each sending")
      }
      #expect(delivery.sql(registered) == "100")
      #expect(delivery.states == "delivered 200 1 100")
    }
  }

  @Test func whatWasFoundForAnotherAppDoesNotCount() throws {
    try withDelivery { delivery throws in
      delivery.insert(10)
      delivery.sql(
        """
        INSERT INTO apns_hosts (token, topic, environment, learned_at)
        SELECT DISTINCT token, 'com.example.old', 'sandbox', NOW(3) FROM deliveries
        """)
      try withAPNs { other throws in
        try withAPNs { fake throws in
          #expect(try delivery.send(by: fake, elsewhere: other) == DeliveryReport(delivered: 10))
        }
      } thenLook: { other, _ throws in
        #expect(try other.received().isEmpty)
      }
    }
  }

  @Test func aTokenThatNeitherHostKnowsGoes() throws {
    try withDelivery { delivery throws in
      delivery.insert(100)
      let refusals = refusals(delivery)
      try withAPNs("answer every 1 400 BadDeviceToken") { other throws in
        try withAPNs(faults: refusals) { fake throws in
          let report = try delivery.send(by: fake, elsewhere: other)
          #expect(report == DeliveryReport(delivered: 90, dead: 10, tokensRemoved: 10))
        }
      } thenLook: { other, _ throws in
        #expect(try other.received().count == 10)
      }
      #expect(delivery.sql(registered) == "90")
      #expect(delivery.states == "dead 400 BadDeviceToken 1 10\ndelivered 200 1 90")
    }
  }

  @Test func aTokenThatDiedOnTheOtherHostGoes() throws {
    try withDelivery { delivery throws in
      delivery.insert(100)
      let refusals = refusals(delivery)
      try withAPNs("answer every 1 410 Unregistered 1763712000123") { other throws in
        try withAPNs(faults: refusals) { fake throws in
          let report = try delivery.send(by: fake, elsewhere: other)
          #expect(report == DeliveryReport(delivered: 90, dead: 10, tokensRemoved: 10))
        }
      }
      #expect(delivery.states == "dead 410 Unregistered 1 10\ndelivered 200 1 90")
    }
  }

  @Test func whereWrongTokensAreTheRuleTheOtherHostIsNotAsked() throws {
    try withDelivery { delivery throws in
      delivery.insert(100)
      try withAPNs { other throws in
        try withAPNs("answer every 3 400 BadDeviceToken") { fake throws in
          let report = try delivery.send(by: fake, elsewhere: other)
          #expect(report.dead == 33)
          #expect(report.tokensRemoved == 0)
          #expect(report.problem?.contains("33 devices") == true)
        }
      } thenLook: { other, _ throws in
        #expect(try other.received().isEmpty)
      }
      #expect(delivery.sql(registered) == "100")
    }
  }

  /// Apple's newer keys work with only one environment.
  @Test func aHostThatDoesNotServeUsLeavesTheFirstWord() throws {
    try withDelivery { delivery throws in
      delivery.insert(100)
      let refusals = refusals(delivery)
      try withAPNs("answer every 1 403 BadEnvironmentKeyInToken") { other throws in
        try withAPNs(faults: refusals) { fake throws in
          let report = try delivery.send(by: fake, elsewhere: other)
          #expect(report == DeliveryReport(delivered: 90, dead: 10, tokensRemoved: 10))
        }
      } thenLook: { other, _ throws in
        #expect(try other.received().count == 1)
      }
      #expect(delivery.states == "dead 400 BadDeviceToken 1 10\ndelivered 200 1 90")
    }
  }

  @Test(arguments: ["answer every 1 503 ServiceUnavailable", "tls none"])
  func whileTheOtherHostDoesNotAnswerItsTokensWait(_ fault: String) throws {
    try withDelivery { delivery throws in
      delivery.insert(100)
      let refusals = refusals(delivery)
      try withAPNs(fault) { other throws in
        try withAPNs(faults: refusals) { fake throws in
          let report = try delivery.send(by: fake, elsewhere: other)
          #expect(report.delivered == 90)
          #expect(report.dead == 0)
          #expect(report.tokensRemoved == 0)
          #expect((report.problem != nil) == (fault == "tls none"))
        }
      }
      #expect(delivery.sql(registered) == "100")
      #expect(delivery.sql("SELECT COUNT(*) FROM deliveries WHERE state = 'open'") == "10")
    }
  }

  @Test func withoutAnotherHostAWrongTokenGoesAtOnce() throws {
    try withDelivery { delivery throws in
      delivery.insert(100)
      try withAPNs(faults: refusals(delivery)) { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report == DeliveryReport(delivered: 90, dead: 10, tokensRemoved: 10))
      }
    }
  }

  @Test func aWrongTokenThatWasRegisteredAgainStays() throws {
    try withDelivery { delivery throws in
      delivery.insert(100, registeredAt: "2038-01-01")
      try withAPNs(faults: refusals(delivery)) { fake throws in
        let report = try delivery.send(by: fake)
        #expect(report == DeliveryReport(delivered: 90, dead: 10))
      }
      #expect(delivery.sql(registered) == "100")
    }
  }
}

import Base
import Foundation
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// Pushes from rows of an attacker who has taken over the responder.
@Suite(.serialized) struct DemoPushRowTests {
  private static let (anns, bobs) = (token("a"), token("b"))

  private static func token(_ letter: String) -> String { String(repeating: letter, count: 64) }

  /// Lets the companion run all jobs.
  ///
  /// - Returns: the sent pushes: tokens and payloads.
  private func sent(by delivery: TestDelivery) throws -> [(token: String, payload: String)] {
    let sent = Mutex<[(token: String, payload: String)]>([])
    let sender = DirectSender(topic: "t", concurrency: 4) { notifications in
      sent.withLock {
        $0 += notifications.map { ($0.token.text, String(decoding: $0.payload, as: UTF8.self)) }
      }
      return Dictionary(
        uniqueKeysWithValues: notifications.map { ($0.id, .accepted(apnsID: "id")) })
    }
    try delivery.companion(mailer: nil, channels: [.direct(sender)]).jobs.only(.pushTests).run()
    return sent.withLock { $0 }
  }

  @Test func aTestGoesToTokensOfItsAccountAlone() throws {
    try withDelivery { delivery throws in
      delivery.registerPushTokens([Self.anns])
      delivery.registerPushTokens([Self.bobs], of: "bob@example.org")
      let tokens = [Self.bobs, Self.token("c"), Self.anns, Self.anns]
      delivery.insertJob("push_test", delivery.demoPush(tokens).json)
      let sent = try sent(by: delivery)
      #expect(sent.map(\.token) == [Self.anns])
      #expect(
        sent.map(\.payload) == [
          #"{"aps":{"alert":{"title":"T","body":"B"},"badge":1,"sound":"default"},"data":{"a":1}}"#
        ])
      let outcome = try #require(try delivery.demoPushOutcomes().first)
      #expect(
        outcome.results.map(\.reason) == ["NotRegistered", "NotRegistered", nil, nil])
    }
  }

  /// Changes between the insertion of the row and the sending.
  @Test(arguments: [
    "UPDATE devices SET revoked_at = NOW(3)", "DELETE FROM push_tokens",
    "UPDATE push_tokens SET device_id = (SELECT d.id FROM devices d JOIN accounts a ON a.id = d.account_id WHERE a.email = 'bob@example.org')",
    "DELETE FROM accounts WHERE email = 'ann@example.org'",
  ])
  func aTokenThatTheAccountHasLostGetsNothing(statement: String) throws {
    try withDelivery { delivery throws in
      delivery.registerPushTokens([Self.anns])
      delivery.registerPushTokens([Self.bobs], of: "bob@example.org")
      let test = delivery.demoPush([Self.anns]).json
      delivery.insertJob("push_test", test)
      delivery.sql(statement)
      #expect(try sent(by: delivery).isEmpty)
      #expect(try delivery.demoPushOutcomes().flatMap(\.results).map(\.reason) == ["NotRegistered"])
    }
  }

  private static let outOfLimits: [DemoPushMessage] = [
    message(title: String(repeating: "x", count: 121)),
    message(title: String(repeating: "🎉", count: 61)),
    message(body: String(repeating: "x", count: 513)),
    message(sound: String(repeating: "x", count: 65)), message(badge: -1), message(badge: 10_000),
    message(data: "[]"), message(data: "1"), message(data: ""), message(data: #"{"a":1"#),
    message(data: #"{},"aps":{"alert":"Buy"}"#), message(data: #"{}} {"#),
    message(data: #"{"a":"\#(String(repeating: "x", count: 2041))"}"#),
  ]

  private static func message(
    title: String = "T", body: String = "B", badge: Int64? = nil, sound: String = "default",
    data: String? = nil
  ) -> DemoPushMessage {
    DemoPushMessage(title: title, body: body, badge: badge, sound: sound, data: data)
  }

  @Test func whatNoRequestCouldAskForIsNotSent() throws {
    try withDelivery { delivery throws in
      delivery.registerPushTokens([Self.anns])
      for message in Self.outOfLimits {
        delivery.insertJob(
          "push_test", delivery.demoPush([Self.anns], saying: message).json)
      }
      let many = (1...501).map { "\(Self.anns)\($0)" }
      delivery.insertJob("push_test", delivery.demoPush(many).json)
      #expect(try sent(by: delivery).isEmpty)
      let reasons = try delivery.demoPushOutcomes().map { Set($0.results.map(\.reason)) }
      #expect(reasons == Array(repeating: ["MalformedTest"], count: Self.outOfLimits.count + 1))
    }
  }

  /// Earlier versions of the responder wrote such rows, with any tokens and any payload.
  @Test func aPayloadInARowIsNotSent() throws {
    try withDelivery { delivery throws in
      delivery.registerPushTokens([Self.anns])
      let target = #"{"token":"\#(Self.anns)","platform":"ios","registeredAt":0,"isEnabled":true}"#
      delivery.insertJob(
        "push_test", Array(#"{"tokens":[\#(target)],"payload":"{\"aps\":{}}"}"#.utf8))
      #expect(try sent(by: delivery).isEmpty)
      #expect(delivery.sql("SELECT state, attempts FROM jobs") == "open\t1")
    }
  }

  /// The responder owns the counts of requests, so an attacker in the responder can reset them.
  @Test func theCompanionCountsTestsItself() throws {
    try withDelivery { delivery throws in
      let tokens = (1...300).map { "\(Self.anns)\($0)" }
      delivery.registerPushTokens(tokens)
      for _ in 1...4 {
        delivery.insertJob("push_test", delivery.demoPush(tokens).json)
      }
      delivery.sqlOfResponder("UPDATE rate_limits SET hits = 0")
      #expect(try sent(by: delivery).count == 600)
      let reasons = try delivery.demoPushOutcomes().map { Set($0.results.map(\.reason)) }
      #expect(reasons == [[nil], [nil], ["TooManyTests"], ["TooManyTests"]])
      delivery.sql(
        "UPDATE job_limits SET window_started_at = window_started_at - INTERVAL 1 MINUTE")
      delivery.insertJob("push_test", delivery.demoPush(tokens).json)
      #expect(try sent(by: delivery).count == 300)
    }
  }
}

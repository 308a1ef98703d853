import Foundation
import MariaDB
import Program
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// Errands from claim to result.
@Suite(.serialized) struct ErrandTests {
  private static let token = String(repeating: "a", count: 64)
  private static let gateway = PushGateway(topic: "t", concurrency: 7) { notifications in
    Dictionary(uniqueKeysWithValues: notifications.map { ($0.id, .accepted(apnsID: "id")) })
  }

  private func post(
    _ delivery: TestDelivery, kind: Errand.Kind = .pushTest, request: [UInt8]? = nil
  ) throws -> String {
    let test = PushTest(
      tokens: [
        PushTest.Target(
          token: Self.token, platform: .ios, registeredAt: .now(), isEnabled: true)
      ],
      payload: Array(#"{"aps":{}}"#.utf8))
    return try Database(accountSettings(of: "responder", in: delivery.root)).post(
      kind, request ?? Errand.json(test), from: Origin(requestID: "r", address: "192.0.2.1"),
      at: .now())
  }

  private func state(_ delivery: TestDelivery) -> String {
    delivery.sql("SELECT state, attempts FROM errands ORDER BY created_at, id")
  }

  @Test func aPassAndADeliveryDoAllThatIsOpen() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: nil, pushGateway: Self.gateway)
      let id = try post(delivery)
      try companion.attend()
      #expect(state(delivery) == "done\t1")
      let outcome = try Errand.decode(
        PushTestOutcome.self,
        from: Array(delivery.sql("SELECT result FROM errands WHERE id = '\(id)'").utf8))
      #expect(
        outcome
          == PushTestOutcome(
            concurrency: 7,
            results: [
              PushTestOutcome.Result(
                ok: true, status: 200, token: Self.token, apnsId: "id", reason: nil)
            ]))
      for _ in 1...3 { _ = try post(delivery) }
      try companion.pass()
      #expect(delivery.sql("SELECT COUNT(*) FROM errands WHERE state = 'done'") == "4")
    }
  }

  @Test func anErrandIsDoneBeforeTheMails() throws {
    try withDelivery { delivery throws in
      _ = try post(delivery)
      try delivery.requestCode()
      let isMailWaiting = Mutex(false)
      let gateway = PushGateway(topic: "t", concurrency: 1) { _ in
        isMailWaiting.withLock { $0 = delivery.sql("SELECT state FROM outbox") == "open" }
        return [:]
      }
      try delivery.companion(mailer: .directory(delivery.folder), pushGateway: gateway).attend()
      #expect(isMailWaiting.withLock { $0 })
      #expect(delivery.sql("SELECT state FROM outbox") == "delivered")
    }
  }

  @Test func withoutAPNsNothingIsSentAndTheVariablesAreNamed() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(
        mailer: .directory(delivery.folder), missingForPushes: ["APNS_KEY_ID", "APNS_TEAM_ID"])
      _ = try post(delivery)
      try companion.pass()
      #expect(
        try Errand.decode(
          PushTestOutcome.self, from: Array(delivery.sql("SELECT result FROM errands").utf8))
          == PushTestOutcome(missing: ["APNS_KEY_ID", "APNS_TEAM_ID"]))
      #expect(
        delivery.sql("SELECT missing FROM companion_status") == "APNS_KEY_ID APNS_TEAM_ID")
    }
  }

  @Test func anErrandThatCannotBeReadIsBuriedAndHoldsNothingUp() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: nil, pushGateway: Self.gateway)
      _ = try post(delivery, request: Array("[]".utf8))
      _ = try post(delivery)
      for attempts in 1...3 {
        try companion.attend()
        #expect(delivery.sql("SELECT attempts FROM errands WHERE request = '[]'") == "\(attempts)")
        delivery.sql("UPDATE errands SET due_at = UTC_TIMESTAMP(3) WHERE state = 'open'")
      }
      try companion.attend()
      #expect(state(delivery) == "dead\t3\ndone\t1")
    }
  }

  @Test func anErrandWhoseLeaseHasPassedOnIsNotFinished() throws {
    try withDelivery { delivery throws in
      _ = try post(delivery)
      let gateway = PushGateway(topic: "t", concurrency: 1) { _ in
        delivery.sql("UPDATE errands SET claim_id = UUID()")
        return [:]
      }
      try delivery.companion(mailer: nil, pushGateway: gateway).attend()
      #expect(state(delivery) == "open\t1")
    }
  }

  @Test func aDatabaseThatIsAwayEndsThePass() throws {
    try withFolder { folder throws in
      let companion = folder.companion(mailer: nil, pushGateway: Self.gateway)
      #expect(throws: DatabaseError.self) { try companion.attend() }
    }
  }

  @Test func ofTwoCompanionsOneDoesAnErrand() throws {
    try withDelivery { delivery throws in
      for _ in 1...10 { _ = try post(delivery) }
      let sent = Mutex(0)
      let gateway = PushGateway(topic: "t", concurrency: 1) { notifications in
        sent.withLock { $0 += notifications.count }
        return [:]
      }
      let isDone = DispatchSemaphore(value: 0)
      for _ in 1...2 {
        let companion = delivery.companion(mailer: nil, pushGateway: gateway)
        Thread.detachNewThread {
          do { try companion.runErrands() } catch { Issue.record("\(error)") }
          isDone.signal()
        }
      }
      for _ in 1...2 { isDone.wait() }
      #expect(sent.withLock { $0 } == 10)
      #expect(
        delivery.sql("SELECT state, attempts, COUNT(*) FROM errands GROUP BY 1, 2")
          == "done\t1\t10")
    }
  }

  @Test func whereNothingMayBeSentAppleIsNotAsked() throws {
    try withDelivery { delivery throws in
      let test = PushTest(
        tokens: [
          PushTest.Target(
            token: Self.token, platform: .android, registeredAt: .now(), isEnabled: true),
          PushTest.Target(
            token: Self.token + "b", platform: .ios, registeredAt: .now(), isEnabled: false),
        ],
        payload: Array("{}".utf8))
      _ = try post(delivery, request: Errand.json(test))
      let gateway = PushGateway(topic: "t", concurrency: 4) { _ in
        Issue.record("Apple was asked")
        return [:]
      }
      try delivery.companion(mailer: nil, pushGateway: gateway).attend()
      let outcome = try Errand.decode(
        PushTestOutcome.self, from: Array(delivery.sql("SELECT result FROM errands").utf8))
      #expect(outcome.results.map(\.reason) == ["UnsupportedPlatform", "PushDisabled"])
      #expect(outcome.results.allSatisfy { !$0.ok && $0.status == 0 && $0.apnsId == nil })
    }
  }

  @Test func whatGoesToAppleIsAnAlertForTheTopicThatIsTriedOnce() throws {
    try withDelivery { delivery throws in
      let sent = Mutex<[APNsNotification]>([])
      let gateway = PushGateway(topic: "org.example.app", concurrency: 4) { notifications in
        sent.withLock { $0 = notifications }
        return [:]
      }
      _ = try post(delivery)
      try delivery.companion(mailer: nil, pushGateway: gateway).attend()
      let notification = try #require(sent.withLock { $0 }.first)
      #expect(notification.token.text == Self.token)
      #expect(notification.topic == "org.example.app")
      #expect(notification.expiration == 0)
      #expect(notification.priority == .immediate)
      #expect(notification.collapseID == nil)
      #expect(String(decoding: notification.payload, as: UTF8.self) == #"{"aps":{}}"#)
    }
  }
}

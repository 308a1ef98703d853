import Base
import Foundation
import MariaDB
import ProcessSupport
import SharedSettings
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// Jobs from claim to result.
@Suite(.serialized) struct JobTests {
  private static let token = String(repeating: "a", count: 64)
  private static let sender = DirectSender(topic: "t", concurrency: 7) { notifications in
    Dictionary(uniqueKeysWithValues: notifications.map { ($0.id, .accepted(apnsID: "id")) })
  }

  private func post(
    _ delivery: TestDelivery, kind: Job.Kind = .demoPush, request: [UInt8]? = nil
  ) throws -> String {
    delivery.registerPushTokens([Self.token])
    let test = delivery.demoPush([Self.token])
    return try delivery.responder().jobs.post(kind, request ?? test.json)
  }

  private func state(_ delivery: TestDelivery) -> String {
    delivery.sql("SELECT state, attempts FROM jobs ORDER BY created_at, id")
  }

  @Test func aPassAndUrgentWorkDoAllThatIsOpen() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: nil, channels: [.direct(Self.sender)])
      let id = try post(delivery)
      try companion.doUrgentWork()
      #expect(state(delivery) == "done\t1")
      let outcome = try decoded(
        DemoPushOutcome.self,
        from: Array(delivery.sql("SELECT result FROM jobs WHERE id = '\(id)'").utf8))
      #expect(
        outcome
          == DemoPushOutcome(
            concurrency: 7,
            results: [
              DemoPushOutcome.TokenResult(
                ok: true, status: 200, token: Self.token, apnsId: "id", reason: nil)
            ]))
      for _ in 1...3 { _ = try post(delivery) }
      try companion.pass()
      #expect(delivery.sql("SELECT COUNT(*) FROM jobs WHERE state = 'done'") == "4")
    }
  }

  /// The mail command waits for the end of the job; without that end it would be killed.
  @Test func aSlowMailKeepsNoJobWaiting() throws {
    try withDelivery { delivery throws in
      _ = try post(delivery)
      try delivery.requestCode()
      let isDone = "\(delivery.folder)/done"
      let command = try delivery.script(
        "cat > /dev/null; until [ -e \(isDone) ]; do sleep 0.01; done")
      let sender = DirectSender(topic: "t", concurrency: 1) { _ in
        wait(for: "the mail command") {
          delivery.sql("SELECT attempts, state FROM outbox") == "1\topen"
        }
        _ = FileManager.default.createFile(atPath: isDone, contents: nil)
        return [:]
      }
      try delivery.companion(mailer: .command(command), channels: [.direct(sender)])
        .doUrgentWork()
      #expect(delivery.sql("SELECT state, attempts FROM outbox") == "delivered\t1")
    }
  }

  /// The push test waits for the claim of the check, which is posted later.
  @Test func aSlowPushTestKeepsNoOtherJobWaiting() throws {
    try withDelivery { delivery throws in
      _ = try post(delivery)
      let check = try delivery.responder().jobs.post(.turnCheck, Array("{}".utf8))
      let sender = DirectSender(topic: "t", concurrency: 1) { _ in
        wait(for: "the check") {
          delivery.sql("SELECT attempts FROM jobs WHERE id = '\(check)'") == "1"
        }
        return [:]
      }
      try delivery.companion(mailer: nil, channels: [.direct(sender)]).doUrgentWork()
    }
  }

  @Test func withoutAPNsNothingIsSentAndTheVariablesAreNamed() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(
        mailer: .directory(delivery.folder), missingForPushes: ["APNS_KEY_ID", "APNS_TEAM_ID"])
      _ = try post(delivery)
      try companion.pass()
      #expect(
        try decoded(
          DemoPushOutcome.self, from: Array(delivery.sql("SELECT result FROM jobs").utf8))
          == DemoPushOutcome(missing: ["APNS_KEY_ID", "APNS_TEAM_ID"]))
      #expect(
        delivery.sql("SELECT missing FROM companion_status") == "APNS_KEY_ID APNS_TEAM_ID")
    }
  }

  @Test func aJobThatCannotBeReadIsGivenUpAndDelaysNothing() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: nil, channels: [.direct(Self.sender)])
      _ = try post(delivery, request: Array("[]".utf8))
      _ = try post(delivery)
      for attempts in 1...3 {
        try companion.doUrgentWork()
        #expect(delivery.sql("SELECT attempts FROM jobs WHERE request = '[]'") == "\(attempts)")
        delivery.sql("UPDATE jobs SET due_at = UTC_TIMESTAMP(3) WHERE state = 'open'")
      }
      try companion.doUrgentWork()
      #expect(state(delivery) == "dead\t3\ndone\t1")
    }
  }

  /// For example after a downgrade: this version may have no worker for the kind.
  @Test func aJobIsGivenUpByAClaimOfAnotherKind() throws {
    try withDelivery { delivery throws in
      _ = try post(delivery, kind: .turnCheck)
      let jobs = delivery.records().jobs
      delivery.sql("UPDATE jobs SET attempts = 2")
      #expect(try jobs.claim(of: [.demoPush], as: newClaimID()) == nil)
      #expect(state(delivery) == "open\t2")
      delivery.sql("UPDATE jobs SET attempts = 3")
      #expect(try jobs.claim(of: [.demoPush], as: newClaimID()) == nil)
      #expect(state(delivery) == "dead\t3")
    }
  }

  @Test func aWakeUpWithoutWorkCostsAFewReads() throws {
    try withDeliveryOnItsOwnServer { delivery throws in
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      func count() throws -> Int {
        let row = delivery.sql("SHOW GLOBAL STATUS LIKE 'Com_stmt_execute'")
        return try #require(row.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
      }
      let before = try count()
      try companion.doUrgentWork()
      #expect(try count() - before <= 4, "one for each kind of work")
    }
  }

  /// Otherwise its failure would stay the last one, and the log would hide the next one of the database.
  @Test func aWorkerThatFailedWorksAgainWithoutWorkThatIsDue() throws {
    try withDelivery { delivery throws in
      let work = UrgentWork(of: delivery.companion(mailer: .directory(delivery.folder)))
      delivery.sql("RENAME TABLE outbox TO hidden")
      work.wake()
      #expect(work.waitUntilIdle(until: .never))
      delivery.sql("RENAME TABLE hidden TO outbox")
      work.wake()
      try work.finish()
    }
  }

  @Test func aJobWhoseLeaseHasPassedOnIsNotFinished() throws {
    try withDelivery { delivery throws in
      _ = try post(delivery)
      let sender = DirectSender(topic: "t", concurrency: 1) { _ in
        delivery.sql("UPDATE jobs SET claim_id = UUID()")
        return [:]
      }
      try delivery.companion(mailer: nil, channels: [.direct(sender)]).doUrgentWork()
      #expect(state(delivery) == "open\t1")
    }
  }

  @Test func aDatabaseThatIsAwayEndsThePass() throws {
    try withFolder { folder throws in
      let companion = folder.companion(mailer: nil, channels: [.direct(Self.sender)])
      #expect(throws: DatabaseError.self) { try companion.doUrgentWork() }
    }
  }

  @Test func ofTwoCompanionsOneDoesAJob() throws {
    try withDelivery { delivery throws in
      for _ in 1...10 { _ = try post(delivery) }
      let sent = Mutex(0)
      let sender = DirectSender(topic: "t", concurrency: 1) { notifications in
        sent.withLock { $0 += notifications.count }
        return [:]
      }
      try inParallel(2) { _ in
        try delivery.companion(mailer: nil, channels: [.direct(sender)]).jobs.only(.pushTests).run()
      }
      #expect(sent.withLock { $0 } == 10)
      #expect(
        delivery.sql("SELECT state, attempts, COUNT(*) FROM jobs GROUP BY 1, 2")
          == "done\t1\t10")
    }
  }

  @Test func whereNothingMayBeSentAppleIsNotAsked() throws {
    try withDelivery { delivery throws in
      delivery.registerPushTokens([Self.token], platform: "android")
      delivery.registerPushTokens([Self.token + "b"])
      delivery.sql(
        """
        UPDATE device_preferences SET version = 1, push_enabled = FALSE
        WHERE device_id = (SELECT device_id FROM push_tokens WHERE platform = 'ios')
        """)
      let test = delivery.demoPush([Self.token, Self.token + "b"])
      _ = try post(delivery, request: test.json)
      let sender = DirectSender(topic: "t", concurrency: 4) { _ in
        Issue.record("Apple was asked")
        return [:]
      }
      try delivery.companion(mailer: nil, channels: [.direct(sender)]).doUrgentWork()
      let outcome = try decoded(
        DemoPushOutcome.self, from: Array(delivery.sql("SELECT result FROM jobs").utf8))
      #expect(outcome.results.map(\.reason) == ["UnsupportedPlatform", "PushDisabled"])
      #expect(outcome.results.allSatisfy { !$0.ok && $0.status == 0 && $0.apnsId == nil })
    }
  }

  @Test func whatGoesToAppleIsAnAlertForTheTopicThatIsTriedOnce() throws {
    try withDelivery { delivery throws in
      let sent = Mutex<[APNsNotification]>([])
      let sender = DirectSender(topic: "org.example.app", concurrency: 4) { notifications in
        sent.withLock { $0 = notifications }
        return [:]
      }
      _ = try post(delivery)
      try delivery.companion(mailer: nil, channels: [.direct(sender)]).doUrgentWork()
      let notification = try #require(sent.withLock { $0 }.first)
      #expect(notification.token.text == Self.token)
      #expect(notification.topic == "org.example.app")
      #expect(notification.expiration == 0)
      #expect(notification.priority == .immediate)
      #expect(notification.collapseID == nil)
      #expect(
        String(decoding: notification.payload, as: UTF8.self)
          == String(decoding: TestDelivery.message.content.apnsPayload, as: UTF8.self))
    }
  }
}

extension DeliveryChannel {
  /// A channel that sends only pushes for waiting requests.
  static func direct(_ sender: DirectSender) -> DeliveryChannel {
    DeliveryChannel(
      name: .apns, platforms: [.ios, .macos], beginRun: { _ in SilentRun() }, describe: { _ in "" },
      direct: sender)
  }
}

private final class SilentRun: ChannelRun {
  let problem: String? = nil
  let isStopped = true

  func send(
    isOver: () -> Bool, next: (Int) -> [OutgoingDelivery], report: (SentDelivery) -> Void
  ) {}

  func finish() -> [DeadToken] { [] }
}

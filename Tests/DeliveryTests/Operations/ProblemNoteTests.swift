import Administration
import Base
import Cryptography
import Foundation
import Logging
import Store
import Support
import Testing

@testable import Delivery

/// A companion's notes on the services that it uses. A note appears at a failure and goes with the
/// recovery.
@Suite(.serialized) struct ProblemNoteTests {
  /// One line for each problem except that of the companion itself.
  private func failing(_ delivery: TestDelivery) -> String {
    delivery.sql(
      "SELECT CONCAT_WS(': ', name, reason) FROM problems WHERE reason <> '' ORDER BY 1")
  }

  private func isWell(_ name: String, _ delivery: TestDelivery) -> Bool {
    delivery.sql("SELECT reason FROM problems WHERE name = '\(name)'") == ""
      && delivery.sql("SELECT COUNT(*) FROM problems WHERE name = '\(name)'") != "0"
  }

  @Test func aMailCommandThatFails() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      try delivery.companion(mailer: .command(try delivery.script("cat > /dev/null; exit 75")))
        .pass()
      #expect(failing(delivery) == "mail: Mails fail: the mail command ended with status 75.")
      delivery.sql("UPDATE outbox SET due_at = UTC_TIMESTAMP(3)")
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(isWell("mail", delivery))
      #expect(
        delivery.sql("SELECT outcome, total FROM counters WHERE name = 'mails' ORDER BY 1")
          == "delivered\t1\nfailed\t1")
    }
  }

  @Test func aRecipientThatDoesNotExistIsNoFailureOfTheMail() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      try delivery.companion(mailer: .command(try delivery.script("cat > /dev/null; exit 67")))
        .pass()
      #expect(failing(delivery) == "")
      #expect(delivery.sql("SELECT outcome FROM counters WHERE name = 'mails'") == "dead")
    }
  }

  @Test func aMailThatIsSealedForOtherKeys() throws {
    try withDelivery { delivery throws in
      let others = try BoxKeys(
        parsing: "c2:" + base64URLEncoded([UInt8](repeating: 9, count: 32)))
      try delivery.requestCode(sealedFor: others.publicKeys)
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(failing(delivery) == "keys: Mails cannot be opened with this companion's keys.")
      delivery.sql("UPDATE outbox SET due_at = UTC_TIMESTAMP(3)")
      try delivery.companion(mailer: .directory(delivery.folder), keys: CompanionKeys(others))
        .pass()
      #expect(isWell("keys", delivery))
    }
  }

  @Test func appleRefusesTheKey() throws {
    try withDelivery { delivery throws in
      delivery.insert(3)
      try withAPNs("answer every 1 403 InvalidProviderToken") { fake throws in
        let companion = delivery.companion(
          mailer: nil, polling: nil, apns: try fake.settings())
        #expect(throws: DeliveryProblem.self) { try companion.pass() }
      }
      #expect(
        failing(delivery)
          == "apns: Notifications are not sent: Apple answers 403 InvalidProviderToken.")
      delivery.letLeasesEnd()
      try withAPNs { fake throws in
        try delivery.companion(
          mailer: nil, polling: nil, apns: try fake.settings()
        ).pass()
      }
      #expect(isWell("apns", delivery))
      #expect(
        delivery.sql(
          "SELECT total FROM counters WHERE name = 'deliveries' AND outcome = 'apns delivered'")
          == "3")
    }
  }

  @Test func appleAnswersThatItHasTrouble() throws {
    try withDelivery { delivery throws in
      delivery.insert(1)
      try withAPNs("answer every 1 503 ServiceUnavailable") { fake throws in
        try delivery.companion(mailer: nil, polling: nil, apns: try fake.settings()).pass()
      }
      #expect(
        failing(delivery)
          == "apns: Notifications are not sent: the service answers 503 ServiceUnavailable.")
    }
  }

  @Test func appleIsNotReached() throws {
    try withDelivery { delivery throws in
      delivery.insert(1)
      try withAPNs { fake throws in
        let apple = try fake.settings()
        let nobody = APNsSettings(
          keyID: apple.keyID, teamID: apple.teamID, topic: apple.topic, key: apple.key,
          environment: .production, endpoint: APNsEndpoint(host: "127.0.0.1", port: 9),
          otherEndpoint: nil, trust: apple.trust, testConcurrency: 4, retries: apple.retries)
        let companion = delivery.companion(mailer: nil, polling: nil, apns: nobody)
        #expect(throws: DeliveryProblem.self) { try companion.pass() }
        #expect(
          failing(delivery)
            == "apns: Notifications are not sent: the host of APNs cannot be reached: Connection refused."
        )
        let faults = companion.check().filter(\.isProblem).map(\.description)
        #expect(faults.contains { $0.hasPrefix("PROBLEM  notifications are not sent to Apple: ") })
        let found = delivery.companion(mailer: .directory(delivery.folder), apns: apple).check()
        #expect(found.filter(\.isProblem).map(\.description) == [])
        #expect(found.contains { $0.description.contains("accepts connections") })
      }
    }
  }

  @Test func onlineGoRefusesAndItsClockDiffers() throws {
    try withPolling { polling throws in
      let delivery = polling.delivery
      try polling.register()
      func pass() throws {
        _ = polling.sql(
          "UPDATE ogs_users SET due_at = UTC_TIMESTAMP(3); UPDATE ogs_pause SET paused_until = NULL"
        )
        try polling.companion().pass()
      }
      polling.site.answer(7, .status(503, body: "{}"))
      try pass()
      #expect(failing(delivery) == "ogs: online-go.com does not answer polls: 503.")
      polling.site.answer(
        7, .status(200, body: full([FakeGame()]), fields: ["Date: Thu, 01 Jan 2099 00:00:00 GMT"]))
      try pass()
      #expect(isWell("ogs", delivery))
      #expect(
        failing(delivery).wholeMatch(
          of: #/clock: The companion's clock is \d+ seconds behind online-go.com's./#) != nil)
      polling.site.answer(7, .status(404, body: "{}"))
      try pass()
      #expect(isWell("ogs", delivery), "one user who is gone says nothing of online-go.com")
      #expect(
        delivery.sql("SELECT outcome, total FROM counters WHERE name = 'polls' ORDER BY 1")
          == "changed\t1\ngone\t1\nrefused\t1")
    }
  }

  @Test func everyPassLooksAtDisksAndClockAndPurge() throws {
    try withDelivery { delivery throws in
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(
        delivery.sql("SELECT name, subject FROM problems ORDER BY 1, 2")
          == """
          clock\tdatabase
          disk\tdatabase
          disk\tmails
          disk\ttemporary files
          purge\t
          secrets\t
          """)
    }
  }

  @Test(arguments: [
    (60, nil), (61, "The companion's clock is 61 seconds ahead of the database's."), (-60, nil),
    (-61, "The companion's clock is 61 seconds behind the database's."),
  ])
  func clocksMayDifferByAMinute(seconds: Int, problem: String?) {
    #expect(clockProblem(.seconds(seconds), from: "the database's") == problem)
  }

  @Test(arguments: [
    (100, 5, nil), (100, 4, "The disk of the mails has 4 MB left of 100."),
    (100_000, 1_999, "The disk of the mails has 1999 MB left of 100000."), (100_000, 2_000, nil),
  ])
  func aDiskIsNearlyFullBelowATwentiethAndTwoGigabytes(size: UInt64, free: UInt64, problem: String?)
  {
    #expect(
      Disk(name: "mails", size: size * 1_000_000, free: free * 1_000_000).problem == problem)
  }

  @Test func aMailDirectoryAndACommandAreTried() throws {
    try withFolder { folder throws in
      func problem(_ mailer: Mailer) -> String? { mailer.problem(.still) }
      #expect(problem(.directory(folder.folder)) == nil)
      #expect(try folder.files == [])
      #expect(
        problem(.directory("/proc/none"))
          == "no file can be written in the mail directory: /proc/none")
      #expect(problem(.command(try folder.script("exit 65"))) == nil)
      let broken = try folder.script("exec /nonexistent")
      #expect(problem(.command(broken)) == "the mail command cannot be executed: \(broken)")
      let killed = try folder.script("kill -9 $$")
      let loud = try folder.script("echo spam; echo spam >&2")
      #expect(problem(.command(loud)) == nil)
      #expect(problem(.command(killed)) == "the mail command was ended by signal 9: \(killed)")
    }
  }

  @Test func publicKeysOfOthersAreAFault() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      let others = try BoxKeys(
        parsing: "c1:" + base64URLEncoded([UInt8](repeating: 9, count: 32)))
      #expect(
        companion.check(publicKeys: TestDelivery.boxKeys.publicKeys).filter(\.isProblem).isEmpty)
      #expect(companion.check(publicKeys: others.publicKeys).filter(\.isProblem).count == 1)
    }
  }
}

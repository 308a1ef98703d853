import Administration
import Foundation
import Glibc
import Store
import Support
import Testing

@testable import Delivery

/// A companion that has died in a pass is a problem.
@Suite(.serialized) struct DeadCompanionTests {
  private func note(_ process: String, _ delivery: TestDelivery) {
    delivery.sql(
      """
      INSERT INTO problems (host, name, subject, since, seen_at)
      VALUES ('\(hostName())', 'companion', 'process \(process)', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3))
      """)
  }

  private static let reason =
    "A companion has begun a pass and not ended it: it died, or lost the database. Its log says more."

  @Test func theNextPassTellsOfAProcessThatDied() throws {
    try withDelivery { delivery throws in
      // A process with this id may exist, but it has not started at the host's start.
      note("\(getppid()) 0", delivery)
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      try companion.pass()
      let status = try companion.statusReport()
      #expect(!status.isWell)
      #expect(status.text.contains(Self.reason))
      #expect(try companion.metrics().contains("switchboard_problem{name=\"companion\"} 1\n"))
      // It stays for a minute, so that it is noticed.
      try companion.pass()
      #expect(try !companion.statusReport().isWell)
      delivery.sql(
        "UPDATE problems SET seen_at = seen_at - INTERVAL 61 SECOND WHERE name = 'companion'")
      try companion.pass()
      #expect(try companion.statusReport().isWell)
    }
  }

  @Test func aPassThatEndsLeavesNoNote() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      try companion.pass()
      #expect(delivery.sql("SELECT COUNT(*) FROM problems WHERE name = 'companion'") == "0")
      try RunningCompanion(delivery, "run").end(expecting: 0)
      #expect(delivery.sql("SELECT COUNT(*) FROM problems WHERE name = 'companion'") == "0")
    }
  }

  @Test func aProcessThatStillRunsHasNotDied() throws {
    try withDelivery { delivery throws in
      let other = try #require(RunningProcess(id: getppid())).text
      note(other, delivery)
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(
        delivery.sql("SELECT subject, reason FROM problems WHERE name = 'companion'")
          == "process \(other)\t")
    }
  }

  @Test func aKilledCompanionIsToldByTheNext() throws {
    try withDelivery { delivery throws in
      let watch = try RunningCompanion(delivery, "watch")
      wait(for: "the row of the process") {
        delivery.sql("SELECT COUNT(*) FROM problems WHERE subject LIKE 'process %'") == "1"
      }
      kill(watch.process.processIdentifier, SIGKILL)
      watch.process.waitUntilExit()
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(
        delivery.sql("SELECT subject, reason FROM problems WHERE name = 'companion'")
          == "pass\t\(Self.reason)")
    }
  }
}

import Foundation
import Support
import Testing

@testable import API

/// Enrolments for which there is no answer in time.
@Suite struct EnrollmentDeadlineTests {
  @Test func withoutACompanionThereIsNoAnswerAndNothingIsStoredLater() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let answer = site.comeBack(to: location, application: site.hastySibling())
      #expect(failedEnrollment("no_answer", in: answer.field("Location")))
      #expect(site.sql("SELECT kind, state FROM errands") == "bank_enrollment\tdead")
      try site.companion().runErrands(of: .banks)
      #expect(bank.exchanges == 0)
      #expect(site.stored == 0)
      site.expectInvalidState(bank, location)
    }
  }

  /// Of the responder's end and the companion's one comes first, whatever their clocks say.
  @Test func whatWasWithdrawnIsNotStoredWhenTheBankHasAnswered() throws {
    try withBank { site, ann, bank throws in
      let isAsked = DispatchSemaphore(value: 0)
      let hasGone = DispatchSemaphore(value: 0)
      bank.play {
        $0.beforeCards = {
          isAsked.signal()
          hasGone.wait()
        }
      }
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let answer = try site.withCompanion(of: .banks) {
        let answer = site.comeBack(to: location, application: site.hastySibling())
        isAsked.wait()
        hasGone.signal()
        return answer
      }
      #expect(failedEnrollment("no_answer", in: answer.field("Location")))
      #expect(bank.exchanges == 1)
      #expect(site.stored == 0)
      #expect(site.count("audit_log WHERE event = 'bank_enrolled'") == 0)
    }
  }

  @Test func anErrandOfALeaseThatHasPassedOnStoresNothing() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      bank.play { $0.beforeCards = { site.sql("UPDATE errands SET claim_id = UUID()") } }
      let answer = try site.withCompanion(of: .banks) {
        site.comeBack(to: location, application: site.hastySibling(patience: .seconds(1)))
      }
      #expect(failedEnrollment("no_answer", in: answer.field("Location")))
      #expect(site.stored == 0)
    }
  }

  @Test func anErrandThatIsOldAsksNobody() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      site.sql(
        """
        CREATE TRIGGER age BEFORE INSERT ON errands FOR EACH ROW
        SET NEW.created_at = UTC_TIMESTAMP(3) - INTERVAL 9 SECOND
        """)
      let answer = try site.withCompanion(of: .banks) { site.comeBack(to: location) }
      #expect(failedEnrollment("no_answer", in: answer.field("Location")))
      #expect(bank.exchanges == 0)
      #expect(site.stored == 0)
    }
  }

  @Test func whereTooManyWaitThereIsNoAnswer() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let application = site.hastySibling(beginWaiting: { false })
      let answer = site.comeBack(to: location, application: application)
      #expect(failedEnrollment("no_answer", in: answer.field("Location")))
      #expect(site.count("errands") == 0)
    }
  }

  /// A slow bank keeps nobody waiting who does not ask it.
  @Test func theErrandsOfBanksAreNobodyElses() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      _ = site.comeBack(to: location, application: site.hastySibling())
      site.sql("UPDATE errands SET state = 'open', finished_at = NULL")
      try site.companion().pass()
      #expect(site.sql("SELECT state, attempts FROM errands") == "open\t0")
      try site.companion().runErrands(of: .banks)
      #expect(site.sql("SELECT state, attempts FROM errands") == "done\t1")
    }
  }
}

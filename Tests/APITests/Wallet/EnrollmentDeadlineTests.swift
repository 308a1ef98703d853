import Foundation
import Store
import Support
import Synchronization
import Testing

@testable import API
@testable import Delivery

/// Enrollments without an answer in time.
@Suite struct EnrollmentDeadlineTests {
  @Test func withoutACompanionThereIsNoAnswerAndNothingIsStoredLater() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let answer = site.comeBack(to: location, application: site.impatientSibling())
      #expect(failedEnrollment("no_answer", in: answer.field("Location")))
      #expect(site.sql("SELECT kind, state FROM jobs") == "bank_enrollment\tdead")
      try site.companion().jobs.only(.banks).run()
      #expect(bank.exchanges == 0)
      #expect(site.stored == 0)
      #expect(failedEnrollment("no_answer", in: site.comeBack(to: location).field("Location")))
    }
  }

  /// Either the responder withdraws the job or the companion finishes it, even if their clocks
  /// differ.
  @Test func aWithdrawnJobStoresNothingWhenTheBankAnswers() throws {
    try withBank { site, ann, bank throws in
      let isAsked = DispatchSemaphore(value: 0)
      let hasGone = DispatchSemaphore(value: 0)
      bank.play {
        $0.beforeCards = {
          isAsked.signal()
          waiting(for: "the answer to the browser") { hasGone.wait() }
        }
      }
      // The responder withdraws the job as soon as the bank is asked.
      let patient = accountSettings(of: "responder", in: site.root).patient
      let proxy = MariaDBProxy(patient) { command in
        if case .prepare(let sql) = command, sql.contains("SET state = 'dead'") {
          waiting(for: "the request to the bank") { isAsked.wait() }
          isAsked.signal()
        }
        return .pass
      }
      let application = Application.ofTests(
        Database(proxy.settings, mailKeys: API.Settings.ofTests().mailKeys),
        log: Evidence.log(of: site.root.database), clock: site.clock.read, waitLimit: .zero)
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let answer = try site.withCompanion(of: .banks) {
        defer { hasGone.signal() }
        return site.comeBack(to: location, application: application)
      }
      #expect(failedEnrollment("no_answer", in: answer.field("Location")))
      #expect(bank.exchanges == 1)
      #expect(site.stored == 0)
      #expect(site.count("audit_log WHERE event = 'bank_enrolled'") == 0)
    }
  }

  @Test func whoeverComesBackAfterALostAnswerIsToldOfTheCards() throws {
    try withBank { site, ann, bank throws in
      // The responder cannot store the result that the companion has reported.
      let proxy = MariaDBProxy(accountSettings(of: "responder", in: site.root)) { command in
        if case .prepare(let sql) = command, sql.contains("SET result = ?") { return .cutBefore }
        return .pass
      }
      let application = Application.ofTests(
        Database(proxy.settings, mailKeys: API.Settings.ofTests().mailKeys),
        log: Evidence.log(of: site.root.database), clock: site.clock.read)
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let answer = try site.withCompanion(of: .banks) {
        site.comeBack(to: location, application: application)
      }
      #expect(answer.status == 503, "\(answer.text)")
      #expect(site.comeBack(to: location).field("Location") == EnrollmentTests.success)
    }
  }

  @Test func aJobWhoseLeaseIsLostStoresNothing() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      bank.play { $0.beforeCards = { site.sql("UPDATE jobs SET claim_id = UUID()") } }
      let answer = try site.withCompanion(of: .banks) {
        site.comeBack(to: location, application: site.impatientSibling(waitLimit: .seconds(1)))
      }
      #expect(failedEnrollment("no_answer", in: answer.field("Location")))
      #expect(site.stored == 0)
    }
  }

  enum Ending: CaseIterable { case handover, removalOfAuthenticators }

  /// The account is handed over to the owner of its address, or its authenticators are removed, while the
  /// bank is being asked.
  @Test(arguments: Ending.allCases)
  func anEnrollmentThatEndsMeanwhileStoresNothing(ending: Ending) throws {
    let bank = try #require(FakeBank())
    defer { bank.end() }
    try withApplication { site in
      try site.connect(bank)
      let person = try site.signUp(isProven: ending == .removalOfAuthenticators)
      _ = site.requestCode(device: "device-owner")
      let code = try site.mailedCode()
      bank.play {
        $0.beforeCards = {
          switch ending {
          case .handover:
            let answer = site.verify(code: code, device: "device-owner")
            if answer.status != 200 { Issue.record("\(answer.text)") }
          case .removalOfAuthenticators:
            let answer = site.send(
              "POST", AccountPath.logout, token: person.accessToken,
              query: "revokeAll=true&authenticators=true")
            if answer.status != 200 { Issue.record("\(answer.text)") }
          }
        }
      }
      let location = try site.enroll(person, at: bank)
      #expect(failedEnrollment("no_answer", in: location))
      #expect(bank.exchanges == 1)
      #expect(site.stored == 0)
      #expect(site.count("audit_log WHERE event = 'bank_enrolled'") == 0)
    }
  }

  /// The ways in which the session of an enrollment ends, other than those of ``Ending``.
  enum SessionEnd: CaseIterable {
    case signOut, signOutEverywhere, revocation, accountPage, administrator, signInAgain, theft,
      expiry
  }

  /// - Parameter elsewhere: another session of the account.
  private func end(
    _ person: SignedIn, _ way: SessionEnd, from elsewhere: SignedIn, at site: TestApplication
  ) throws {
    let answer: Answer
    switch way {
    case .signOut: answer = site.send("POST", AccountPath.logout, token: person.accessToken)
    case .signOutEverywhere:
      answer = site.send(
        "POST", AccountPath.logout, token: elsewhere.accessToken, query: "revokeAll=true")
    case .revocation:
      answer = site.send(
        "DELETE", "\(AccountPath.devices)/\(person.deviceID)", token: elsewhere.accessToken)
    case .accountPage:
      var visitor = PageVisitor(site)
      _ = try visitor.signIn()
      let id = site.sql(
        """
        SELECT s.id FROM sessions s JOIN devices d ON d.id = s.device_id
        WHERE d.client_device_id = '\(person.deviceID)'
        """)
      answer = visitor.send("/remove", ["kind": "sessions", "id": id])
    case .signInAgain:
      _ = try site.signIn(device: person.deviceID)
      return
    case .administrator:
      _ = try site.database.records(at: site.now, from: .companion).sessions.endAll(
        of: person.accountID)
      return
    case .theft:
      site.sql("UPDATE sessions SET ended_at = created_at, end_reason = 'reuse'")
      return
    case .expiry:
      site.sql("UPDATE sessions SET rotated_at = '2000-01-01', expires_at = '2000-01-02'")
      return
    }
    #expect(answer.status == 200, "\(answer.text)")
  }

  @Test(arguments: SessionEnd.allCases)
  func noCardsComeAfterTheEndOfTheSession(way: SessionEnd) throws {
    try withBank { site, ann, bank throws in
      let elsewhere = try site.signIn(device: "device-2")
      bank.play {
        $0.beforeCards = {
          do { try self.end(ann, way, from: elsewhere, at: site) } catch { Issue.record(error) }
        }
      }
      #expect(failedEnrollment("invalid_state", in: try site.enroll(ann, at: bank)))
      #expect(bank.exchanges == 1)
      #expect(site.stored == 0)
      #expect(site.count("audit_log WHERE event = 'bank_enrolled'") == 0)
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'bank_refused'")
          == "test-bank: invalid_state, the session has ended")
    }
  }

  private static let tooOld = TestApplication.bankWaitLimit.components.seconds

  @Test func anOldJobDoesNotAskTheBank() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      site.sql(
        """
        CREATE TRIGGER age BEFORE INSERT ON jobs FOR EACH ROW
        SET NEW.created_at = UTC_TIMESTAMP(3) - INTERVAL \(Self.tooOld) SECOND
        """)
      let answer = try site.withCompanion(of: .banks) { site.comeBack(to: location) }
      #expect(failedEnrollment("no_answer", in: answer.field("Location")))
      #expect(bank.exchanges == 0)
      #expect(site.stored == 0)
    }
  }

  @Test func whenTooManyWaitTheStateStaysValid() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let start = try site.startEnrollmentInBrowser(by: ann, query: "mobile=true")
      let page = try #require(bank.consent(to: start.url))
      let before = site.rows("enrollment_states", "jobs", "audit_log")
      let application = site.impatientSibling(beginWaiting: { false })
      // A refused request frees its place.
      for _ in 0...WaitingPlaces.count(of: .banks) {
        let answer = site.visit(page, application: application, cookie: start.cookie)
        #expect(answer.status == 503 && answer.retryAfter == 5)
        #expect(answer.field("Content-Type") == "text/html; charset=utf-8")
        // A browser reloads the page by itself, but does not send the form again.
        #expect(answer.field("Refresh") == "5")
        #expect(answer.text.contains("This page tries again by itself."))
      }
      let form = site.confirm(location, application: application)
      #expect(form.status == 503 && form.field("Refresh") == nil)
      #expect(form.text.contains("Please go back and try again."))
      #expect(site.rows("enrollment_states", "jobs", "audit_log") == before)
      try site.withCompanion(of: .banks) {
        for answer in [
          site.comeBack(to: location), site.comeBack(to: page, cookie: start.cookie),
        ] {
          #expect(answer.field("Location") == EnrollmentTests.success)
        }
      }
    }
  }

  @Test func banksTakeAtMostHalfOfTheWaitingPlaces() throws {
    try withBank { site, ann, bank throws in
      let count = WaitingPlaces.count(of: .banks)
      let people =
        try [ann]
        + (1...count / 2).map { try site.signUp(email: "\($0)@example.org", device: "\($0)") }
      let locations = try (0...count).map { number in
        let person = people[number / WaitingPlaces.ofOneOwner]
        return try #require(bank.consent(to: try site.startEnrollment(by: person).url))
      }
      let asked = Mutex(0)
      let application = site.impatientSibling(
        waitLimit: .seconds(86_400),
        beginWaiting: {
          asked.withLock { $0 += 1 }
          return true
        })
      let last = locations[count]
      let ends = inParallel(count + 1) { number -> String? in
        guard number == count else {
          return site.comeBack(to: locations[number], application: application).field("Location")
        }
        wait(for: "a job for each place") { site.count("jobs") == count }
        let before = (site.rows("enrollment_states", "jobs"), asked.withLock { $0 })
        let answer = site.comeBack(to: last, application: application)
        let isSame = (site.rows("enrollment_states", "jobs"), asked.withLock { $0 }) == before
        do { try site.companion().jobs.only(.banks).run() } catch { return "\(error)" }
        return answer.status == 503 && answer.retryAfter == 5 && isSame ? nil : answer.text
      }
      #expect(ends.filter { $0 == EnrollmentTests.success }.count == count, "\(ends)")
      #expect(ends.filter { $0 == nil }.count == 1, "\(ends)")
      let answer = try site.withCompanion(of: .banks) {
        site.comeBack(to: last, application: application)
      }
      #expect(answer.field("Location") == EnrollmentTests.success)
    }
  }

  /// A slow bank delays only the requests that wait for it.
  @Test func onlyTheBankWorkersDoBankJobs() throws {
    try withBank { site, ann, bank throws in
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      _ = site.comeBack(to: location, application: site.impatientSibling())
      site.sql("UPDATE jobs SET state = 'open', finished_at = NULL")
      try site.companion().jobs.only(.others).run()
      #expect(site.sql("SELECT state, attempts FROM jobs") == "open\t0")
      try site.companion().jobs.only(.banks).run()
      #expect(site.sql("SELECT state, attempts FROM jobs") == "done\t1")
    }
  }
}

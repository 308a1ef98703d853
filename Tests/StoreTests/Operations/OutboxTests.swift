import Base
import MariaDB
import Support
import Testing

@testable import Store

@Suite struct OutboxTests {
  private static let first = "01890a5d-ac96-774b-bcce-b302099a9001"
  private static let second = "01890a5d-ac96-774b-bcce-b302099a9002"

  /// Inserts `count` due mails that expire in five minutes into the outbox.
  private func fill(_ store: TestStore, count: Int = 1) {
    store.sql(
      """
      SET time_zone = '+00:00';
      INSERT INTO outbox (id, kind, recipient, sealed, due_at, expires_at, request_id)
      SELECT UUID(), 'login_code', CONCAT('mail-', seq), CONCAT('sealed-', seq), NOW(3) - INTERVAL 1 SECOND,
        NOW(3) + INTERVAL 5 MINUTE, 'r' FROM seq_1_to_\(count)
      """)
  }

  /// Whether the only mail is due `seconds` after a moment between `began` and now.
  private func isDue(in seconds: Int, since began: String, _ store: TestStore) -> Bool {
    store.sql(isAhead("due_at", in: "outbox", by: seconds...seconds, since: began)) == "1"
  }

  private func state(_ store: TestStore) -> String {
    store.sql(
      "SELECT state, attempts, reason, sealed IS NULL, claim_id IS NULL, finished_at IS NULL FROM outbox"
    )
  }

  @Test func aMailIsClaimedOnceWithWhatItSays() throws {
    try withStore { store throws in
      fill(store)
      let mails = store.records("companion").mails
      let began = store.sql(databaseClock)
      let claimed = try mails.claim(limit: 10, as: Self.first)
      #expect(claimed.map(\.mail.recipient) == ["mail-1"])
      #expect(claimed.map(\.mail.sealed) == ["sealed-1"])
      #expect(claimed.map(\.attempts) == [1])
      #expect(try mails.claim(limit: 10, as: Self.second).isEmpty)
      #expect(isDue(in: 120, since: began, store))
      #expect(store.sql("SELECT state FROM mails_today") == "claimed")
    }
  }

  @Test func aClaimTakesTheOldestUpToItsLimit() throws {
    try withStore { store throws in
      fill(store, count: 5)
      store.sql(
        "UPDATE outbox SET due_at = due_at - INTERVAL 10 SECOND WHERE recipient IN ('mail-4', 'mail-2')"
      )
      let mails = store.records("companion").mails
      let oldest = try mails.claim(limit: 2, as: Self.first)
      #expect(Set(oldest.map(\.mail.recipient)) == ["mail-2", "mail-4"])
      #expect(try mails.claim(limit: 10, as: Self.second).count == 3)
    }
  }

  @Test func whatIsNotDueExpiredOrClosedIsNotClaimed() throws {
    try withStore { store throws in
      fill(store, count: 5)
      store.sql(
        """
        UPDATE outbox SET due_at = UTC_TIMESTAMP(3) + INTERVAL 10 SECOND WHERE recipient = 'mail-1';
        UPDATE outbox SET expires_at = UTC_TIMESTAMP(3) WHERE recipient = 'mail-2';
        UPDATE outbox SET state = 'dead', sealed = NULL, finished_at = NOW() WHERE recipient = 'mail-3';
        UPDATE outbox SET state = 'suppressed', sealed = NULL, finished_at = NOW() WHERE recipient = 'mail-4';
        """)
      let claimed = try store.records("companion").mails.claim(limit: 10, as: Self.first)
      #expect(claimed.map(\.mail.recipient) == ["mail-5"])
    }
  }

  @Test func parallelClaimsNeverShareAMail() throws {
    try withStore { store throws in
      fill(store, count: 200)
      let mails = store.records("companion").mails
      let claims = try inParallel(8) { claimer -> [String] in
        var mine: [String] = []
        for number in 0... {
          let id = "01890a5d-ac96-774b-bcce-b3020\(claimer)9a\(1000 + number)"
          let claimed = try mails.claim(limit: 7, as: id)
          if claimed.isEmpty { return mine }
          #expect(claimed.allSatisfy { $0.attempts == 1 && $0.claimID == id })
          mine += claimed.map(\.mail.recipient)
        }
        return mine
      }.flatMap { $0 }
      #expect(claims.count == 200)
      #expect(Set(claims).count == 200)
    }
  }

  @Test func aClaimWhoseLeaseEndedPassesOn() throws {
    try withStore { store throws in
      fill(store)
      let mails = store.records("companion").mails
      let lost = try #require(try mails.claim(limit: 1, as: Self.first).first)
      store.sql("UPDATE outbox SET due_at = UTC_TIMESTAMP(3)")
      let held = try #require(try mails.claim(limit: 1, as: Self.second).first)
      #expect(held.attempts == 2)
      let before = store.sql("SELECT * FROM outbox")
      for outcome in [
        MailOutcome.delivered, .failed(reason: "late"), .dead(reason: "late"),
      ] {
        #expect(try !mails.record(outcome, of: lost))
      }
      #expect(store.sql("SELECT * FROM outbox") == before)
      #expect(try mails.record(.delivered, of: held))
      #expect(state(store) == "delivered\t2\tNULL\t1\t0\t0")
    }
  }

  @Test func aDeliveredMailIsClosedAndWiped() throws {
    try withStore { store throws in
      fill(store)
      let mails = store.records("companion").mails
      let claimed = try #require(try mails.claim(limit: 1, as: Self.first).first)
      #expect(try mails.record(.delivered, of: claimed))
      #expect(state(store) == "delivered\t1\tNULL\t1\t0\t0")
      #expect(try !mails.record(.delivered, of: claimed))
      #expect(try mails.claim(limit: 1, as: Self.second).isEmpty)
    }
  }

  @Test func aMailGivenUpIsClosedWipedAndSaysWhy() throws {
    try withStore { store throws in
      fill(store)
      let mails = store.records("companion").mails
      let claimed = try #require(try mails.claim(limit: 1, as: Self.first).first)
      #expect(try mails.record(.dead(reason: "no such user"), of: claimed))
      #expect(state(store) == "dead\t1\tno such user\t1\t0\t0")
      #expect(
        store.sql("SELECT kind, state, reason, messages FROM failures_by_reason")
          == "login_code\tdead\tno such user\t1")
    }
  }

  @Test func aMailThatFailedIsDueAgainLaterAndLater() throws {
    try withStore { store throws in
      fill(store)
      let mails = store.records("companion").mails
      for (number, seconds) in zip(1..., [2, 4, 8, 16, 32, 60, 60, 60]) {
        let id = "01890a5d-ac96-774b-bcce-b302099a80\(10 + number)"
        let claimed = try #require(try mails.claim(limit: 1, as: id).first)
        #expect(claimed.attempts == Int64(number))
        let began = store.sql(databaseClock)
        #expect(try mails.record(.failed(reason: "busy \(number)"), of: claimed))
        #expect(try mails.claim(limit: 1, as: Self.second).isEmpty)
        #expect(isDue(in: seconds, since: began, store), "attempt \(number)")
        #expect(state(store) == "open\t\(number)\tbusy \(number)\t0\t1\t1")
        store.sql("UPDATE outbox SET due_at = UTC_TIMESTAMP(3)")
      }
    }
  }

  @Test func attemptsAreCountedThoughNobodyReports() throws {
    try withStore { store throws in
      fill(store)
      let mails = store.records("companion").mails
      for attempt in 1...3 {
        let id = "01890a5d-ac96-774b-bcce-b302099a800\(attempt)"
        #expect(try mails.claim(limit: 1, as: id).map(\.attempts) == [Int64(attempt)])
        store.sql("UPDATE outbox SET due_at = UTC_TIMESTAMP(3)")
      }
    }
  }

  @Test func aReasonIsCutToItsColumn() throws {
    try withStore { store throws in
      fill(store)
      let mails = store.records("companion").mails
      let claimed = try #require(try mails.claim(limit: 1, as: Self.first).first)
      let reason = String(repeating: "🎉", count: 300)
      #expect(try mails.record(.failed(reason: reason), of: claimed))
      #expect(store.sql("SELECT CHAR_LENGTH(reason) FROM outbox") == "200")
    }
  }

  @Test func mailsThatExpireUnsentAreClosed() throws {
    try withStore { store throws in
      fill(store, count: 4)
      store.sql(
        """
        UPDATE outbox SET expires_at = UTC_TIMESTAMP(3) WHERE recipient IN ('mail-1', 'mail-2', 'mail-3');
        UPDATE outbox SET reason = 'busy' WHERE recipient = 'mail-2';
        UPDATE outbox SET due_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE WHERE recipient = 'mail-3';
        """)
      let mails = store.records("companion").mails
      #expect(try mails.expire() == 2)
      #expect(try mails.expire() == 0)
      #expect(
        store.column(
          "SELECT CONCAT_WS(' ', recipient, state, reason, sealed IS NULL) FROM outbox ORDER BY recipient"
        ) == [
          "mail-1 dead expired before it was sent 1", "mail-2 dead busy 1", "mail-3 open 0",
          "mail-4 open 0",
        ])
    }
  }

  @Test func aCodeForAnAddressThatNobodyHasIsNeverSent() throws {
    try withStore { store throws in
      store.sql(SampleRows.statements)
      store.sql("DELETE FROM outbox; DELETE FROM login_codes")
      let records = store.records("responder")
      for (number, email) in ["ann@example.org", "nobody@example.org"].enumerated() {
        let code = NewLoginCode(
          email: email, challengeHash: Array(repeating: UInt8(number), count: 32),
          codeMAC: Array(repeating: 7, count: 32),
          mailID: "01890a5d-ac96-774b-bcce-b302099a800\(number)", digits: "012345",
          expiresAt: records.now + .seconds(300))
        #expect(
          try records.loginCodes.start(
            with: code, or: nil,
            on: SigningDevice(
              clientDeviceID: "d", name: "D", platform: .ios, credentialHash: nil)) == .codeMailed)
      }
      #expect(
        store.column(
          """
          SELECT CONCAT_WS(' ', recipient, state, sealed IS NULL, finished_at IS NULL, request_id) FROM outbox
          ORDER BY id
          """) == [
            "ann@example.org open 0 1 request", "nobody@example.org suppressed 1 0 request",
          ])
      let claimed = try store.records("companion").mails.claim(limit: 10, as: Self.first)
      #expect(claimed.map(\.mail.recipient) == ["ann@example.org"])
    }
  }
}

import Administration
import Base
import Cryptography
import Foundation
import MariaDB
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

@Suite(.serialized) struct CompanionTests {
  private static let otherKeys = try! BoxKeys(
    parsing: "c2:" + base64URLEncoded([UInt8](repeating: 9, count: 32)))

  private func state(_ delivery: TestDelivery) -> String {
    delivery.sql("SELECT state, attempts, reason, sealed IS NULL FROM outbox")
  }

  @Test func aCodeThatWasAskedForIsMailed() throws {
    try withDelivery { delivery throws in
      let id = try delivery.requestCode("012345")
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(try delivery.files == ["\(id).eml"])
      let mail = try delivery.text("\(id).eml")
      #expect(mail.contains("\nTo: <ann@example.org>\n"))
      #expect(mail.contains("\nFrom: \"Switchboard\" <switchboard@example.org>\n"))
      #expect(mail.contains("\nMessage-ID: <\(id)@example.org>\n"))
      #expect(mail.contains("\n\nYour sign-in code is 012345\n\n"))
      #expect(state(delivery) == "delivered\t1\tNULL\t1")
    }
  }

  @Test func aMailIsSentOnce() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      let script = try delivery.script("cat >> \(delivery.folder)/mails")
      let companion = delivery.companion(mailer: .command(script))
      for _ in 0..<3 { try companion.pass() }
      let mails = try delivery.text("mails")
      #expect(mails.components(separatedBy: "Your sign-in code is").count == 2)
    }
  }

  @Test func onePassSendsAllThatIsDue() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        """
        INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
        SELECT UUID(), CONCAT('p', seq, '@example.org'), 'P', CONCAT('p', seq),
          CONCAT('wsim_', LPAD(seq, 12, '0')), NOW(3) FROM seq_1_to_15
        """)
      for number in 1...15 {
        try delivery.requestCode("\(100_000 + number)", email: "p\(number)@example.org")
      }
      let other = "\(delivery.folder)/mails"
      try delivery.companion(mailer: .directory(other)).pass()
      let files = try FileManager.default.contentsOfDirectory(atPath: other)
      #expect(files.count == 15)
      #expect(delivery.sql("SELECT DISTINCT state FROM outbox") == "delivered")
    }
  }

  /// Each of the four commands waits until all four run.
  @Test func severalMailsAreSentAtOnce() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        """
        INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
        SELECT UUID(), CONCAT('p', seq, '@example.org'), 'P', CONCAT('p', seq),
          CONCAT('wsim_', LPAD(seq, 12, '0')), NOW(3) FROM seq_1_to_4
        """)
      for number in 1...4 { try delivery.requestCode(email: "p\(number)@example.org") }
      let script = try delivery.script(
        """
        cat > /dev/null; touch \(delivery.folder)/mail-$$
        until [ $(ls \(delivery.folder) | grep -c mail-) = 4 ]; do sleep 0.01; done
        """)
      try delivery.companion(mailer: .command(script)).pass()
      #expect(delivery.sql("SELECT DISTINCT state, attempts FROM outbox") == "delivered\t1")
    }
  }

  @Test func nobodysMailIsNotSent() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode(email: "nobody@example.org")
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(try delivery.files == [])
      #expect(state(delivery) == "suppressed\t0\tNULL\t1")
    }
  }

  /// Another host, or a corrected file of keys, may have the key.
  @Test func aMailWhoseKeyIsNotAtHandWaits() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode(sealedFor: Self.otherKeys.publicKeys)
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(try delivery.files == [])
      #expect(
        state(delivery) == "open\t1\tits key is not among SWITCHBOARD_COMPANION_KEYS\t0")
      delivery.sql("UPDATE outbox SET due_at = UTC_TIMESTAMP(3)")
      try delivery.companion(
        mailer: .directory(delivery.folder), keys: CompanionKeys(Self.otherKeys)
      ).pass()
      #expect(state(delivery) == "delivered\t2\tNULL\t1")
    }
  }

  @Test func aMailThatNoKeyOpensIsGivenUp() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      delivery.sql("UPDATE outbox SET sealed = INSERT(sealed, LENGTH(sealed) - 9, 4, 'AAAA')")
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(try delivery.files == [])
      #expect(
        state(delivery)
          == "dead\t1\tthe sealed content cannot be opened with the keys at hand\t1")
    }
  }

  @Test func aMailSealedForAnotherRowIsGivenUp() throws {
    try withDelivery { delivery throws in
      let id = try delivery.requestCode()
      // An attacker who can write rows moves a sealed value to another row.
      delivery.sql(
        "UPDATE outbox SET id = '01890a5d-ac96-774b-bcce-b302099a8057' WHERE id = '\(id)'")
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(try delivery.files == [])
      #expect(state(delivery).hasPrefix("dead\t1\t"))
    }
  }

  @Test func aKeyThatWasReplacedStillOpensItsMails() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode(sealedFor: Self.otherKeys.publicKeys)
      let keys = CompanionKeys(
        try BoxKeys(
          parsing: "c1:\(base64URLEncoded([UInt8](repeating: 7, count: 32))),"
            + "c2:\(base64URLEncoded([UInt8](repeating: 9, count: 32)))"))
      try delivery.companion(mailer: .directory(delivery.folder), keys: keys).pass()
      #expect(state(delivery) == "delivered\t1\tNULL\t1")
    }
  }

  @Test func aMailThatFailedIsTriedAgainWhenItIsDue() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      let script = try delivery.script(
        """
        cat > \(delivery.folder)/mail
        if [ -e \(delivery.folder)/tried ]; then exit 0; fi
        touch \(delivery.folder)/tried; exit 75
        """)
      let companion = delivery.companion(mailer: .command(script))
      try companion.pass()
      #expect(state(delivery) == "open\t1\tthe mail command ended with status 75\t0")
      delivery.sql("UPDATE outbox SET due_at = UTC_TIMESTAMP(3)")
      try companion.pass()
      #expect(state(delivery) == "delivered\t2\tNULL\t1")
    }
  }

  @Test func aRecipientThatDoesNotExistIsGivenUp() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      let script = try delivery.script("cat > /dev/null; exit 67")
      try delivery.companion(mailer: .command(script)).pass()
      #expect(state(delivery) == "dead\t1\tthe mail command ended with status 67\t1")
    }
  }

  @Test func withoutAMailerMailsWaitAndExpire() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      let companion = delivery.companion(mailer: nil)
      try companion.pass()
      #expect(state(delivery) == "open\t0\tNULL\t0")
      delivery.sql("UPDATE outbox SET expires_at = UTC_TIMESTAMP(3)")
      try companion.pass()
      #expect(state(delivery) == "dead\t0\texpired before it was sent\t1")
      #expect(
        delivery.sql("SELECT missing FROM companion_status") == "SWITCHBOARD_MAIL_COMMAND")
    }
  }

  @Test func aPassIsOnRecord() throws {
    try withDelivery { delivery throws in
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      try companion.pass()
      delivery.sql("UPDATE companion_status SET last_pass_at = '2020-01-01', missing = 'X'")
      try companion.pass()
      #expect(
        delivery.sql(
          """
          SELECT host, version, missing, last_pass_at > UTC_TIMESTAMP() - INTERVAL 1 MINUTE
          FROM companion_status
          """) == "\(ProcessInfo.processInfo.hostName)\t\(Product.version)\t\t1")
      #expect(delivery.sql("SELECT overdue FROM companions") == "0")
    }
  }

  @Test func aPassThatTheDatabaseDoesNotLetEndIsAnError() throws {
    try withDelivery { delivery throws in
      delivery.sql("DROP TABLE companion_status")
      #expect(throws: DatabaseError.self) { try delivery.companion(mailer: nil).pass() }
    }
  }

  @Test func aPassClearsAwayWhatNobodyNeeds() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        "INSERT INTO audit_log (at, event, request_id, address) VALUES ('2020-01-01', 'old', 'r', 'a')"
      )
      try delivery.requestCode()
      try delivery.companion(mailer: nil).pass()
      #expect(delivery.sql("SELECT event FROM audit_log") == "code_requested")
    }
  }

  @Test func ofTwoCompanionsOneSendsAMail() throws {
    try withDelivery { delivery throws in
      for number in 1...3 { try delivery.requestCode("00000\(number)") }
      let script = try delivery.script("cat > \(delivery.folder)/mail-$$")
      let companions = (0..<2).map { _ in delivery.companion(mailer: .command(script)) }
      try inParallel(2) { try companions[$0].pass() }
      let mails = try delivery.files.filter { $0.hasPrefix("mail-") }
      #expect(mails.count == 3)
      #expect(delivery.sql("SELECT DISTINCT state, attempts FROM outbox") == "delivered\t1")
    }
  }

  @Test func aCheckFindsWhatIsMissing() throws {
    try withDelivery { delivery throws in
      func faults(_ mailer: Mailer?) -> [String] {
        delivery.companion(mailer: mailer).check().filter(\.isProblem).map(\.description)
      }
      #expect(faults(.directory(delivery.folder)) == [])
      #expect(faults(.command("cat -")) == [])
      #expect(
        faults(nil) == ["PROBLEM  mails are not sent: SWITCHBOARD_MAIL_COMMAND is missing"])
      #expect(
        faults(.command("/nonexistent -t"))
          == ["PROBLEM  the mail command cannot be executed: /nonexistent -t"])
      #expect(faults(.command("nonexistent-mailer")).count == 1)
      delivery.sql("UPDATE schema_version SET version = 0")
      #expect(
        faults(.command("cat")) == [
          "PROBLEM  The schema has version 0, this program needs version \(Database.schemaVersion): apply the schema.sql of "
            + "this release (switchboard setup), then start the program again."
        ])
    }
    try withFolder { folder throws in
      let faults = folder.companion(mailer: .command("cat")).check().filter(\.isProblem)
      let texts = faults.map(\.description)
      #expect(texts.count == 1)
      #expect(texts.first?.hasPrefix("PROBLEM  the database does not answer: ") == true)
    }
  }

  /// Either clock may be years ahead. What is taken for old then must not be gone.
  @Test(arguments: ["INTERVAL 1 HOUR", "INTERVAL -1 HOUR"])
  func whileTheClocksDisagreeNothingIsDeleted(difference: String) throws {
    try withDeliveryOnItsOwnServer { delivery throws in
      let rows = "SELECT COUNT(*) FROM device_registrations"
      delivery.sql(
        """
        INSERT INTO device_registrations (client_device_id, address, name, platform,
          credential_hash, credential_expires_at, registered_at)
        VALUES ('a', '', 'A', 'ios', REPEAT('a', 32), UTC_TIMESTAMP(3) - INTERVAL 1 DAY,
          UTC_TIMESTAMP(3) - INTERVAL 2 DAY);
        SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP(NOW() + \(difference))'
        """)
      try RunningCompanion(delivery, "run").end(expecting: 0)
      #expect(delivery.sql(rows) == "1")
      delivery.sql("SET GLOBAL init_connect = ''")
      try RunningCompanion(delivery, "run").end(expecting: 0)
      #expect(delivery.sql(rows) == "0")
    }
  }
}

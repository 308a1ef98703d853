import Administration
import Base
import Foundation
import MariaDB
import Store
import Support
import Testing

/// Terminal commands for accounts, devices and sessions.
@Suite struct AccountAdministrationTests {
  private func directory(_ delivery: TestDelivery) -> AccountAdministration {
    AccountAdministration(records: delivery.records())
  }

  @Test func accountsAreListedByEmailAndTheListSaysWhenThereAreMore() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        """
        INSERT INTO accounts (id, email, name, username, wallet_id, created_at)
        SELECT UUID(), CONCAT('p', seq, '@example.org'), 'Secret Name', CONCAT('p', seq),
          CONCAT('wsim_', LPAD(seq, 12, '0')), '2026-11-01' FROM seq_1_to_3
        """)
      let whole = try directory(delivery).list(after: "", limit: 4)
      #expect(try object(of: whole)["is_more"] as? Bool == false)
      #expect(
        try rows("accounts", of: whole).map { $0["email"] as? String } == [
          "ann@example.org", "p1@example.org", "p2@example.org", "p3@example.org",
        ])
      #expect(!whole.text.contains("Secret"))
      let first = try directory(delivery).list(after: "Ann@example.org", limit: 2)
      #expect(try rows("accounts", of: first).count == 2)
      #expect(try object(of: first)["is_more"] as? Bool == true)
      let lines = first.text.split(separator: "\n")
      #expect(lines.count == 4)
      #expect(
        lines[0]
          == "ID                                    CREATED               PROVEN  BANNED  EMAIL")
      #expect(lines[1].hasSuffix("  2026-11-01T00:00:00Z  -       -       p1@example.org"))
      #expect(lines[3] == "There are more: --limit shows more of them.")
    }
  }

  @Test func anAccountIsShownWithDevicesAndSessions() throws {
    try withDelivery { delivery throws in
      let token = String(repeating: "ab", count: 32)
      let (device, session) = delivery.addDevice(token, pushes: false)
      let shown = try #require(try directory(delivery).show("ANN@example.org", limit: 10))
      #expect(try rows("accounts", of: shown).count == 1)
      let devices = try rows("devices", of: shown)
      #expect(devices.map { $0["id"] as? String } == [device])
      #expect(devices[0]["takes_pushes"] as? Bool == false)
      #expect(devices[0]["push_tokens"] as? [String] == ["abababababababab…"])
      #expect(devices[0]["revoked_at"] is NSNull)
      let sessions = try rows("sessions", of: shown)
      #expect(sessions.map { $0["id"] as? String } == [session])
      let expiry = try #require(sessions[0]["expires_at"] as? String)
      #expect(expiry.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
      #expect(!shown.text.contains(token))
      #expect(try directory(delivery).show("nobody@example.org", limit: 10) == nil)
      #expect(try directory(delivery).deviceReport(of: "nobody@example.org", limit: 10) == nil)
      #expect(try directory(delivery).sessions(of: "nobody@example.org", limit: 10) == nil)
    }
  }

  /// The command ends the same things as a sign-out in the app: the session and its tokens, also
  /// that of the preferences.
  @Test func aSessionIsEndedAsASignOutEndsIt() throws {
    try withDelivery { delivery throws in
      let (device, session) = delivery.addDevice(String(repeating: "a", count: 64))
      let other = delivery.addDevice(String(repeating: "b", count: 64))
      let change = try delivery.rehearseAndDo {
        try AccountAdministration(records: $0).endSession(session)
      }
      #expect(change.text.hasPrefix("Ended the session \(session)."))
      #expect(
        delivery.sql("SELECT id, end_reason FROM sessions WHERE ended_at IS NOT NULL")
          == "\(session)\tadministrator")
      #expect(delivery.sql("SELECT device_id FROM push_tokens") == other.device)
      #expect(
        delivery.sql("SELECT device_id FROM device_preferences WHERE push_token IS NULL")
          == device)
      #expect(delivery.administratorsEvents == ["logout by an administrator"])
      #expect(try directory(delivery).endSession(session) == nil, "once")
    }
  }

  @Test func aSessionThatHasExpiredCannotBeEnded() throws {
    try withDelivery { delivery throws in
      let (_, session) = delivery.addDevice(String(repeating: "a", count: 64))
      // A row that is made in the same millisecond would expire before it began.
      delivery.sql(
        """
        UPDATE sessions SET created_at = created_at - INTERVAL 1 DAY,
          rotated_at = rotated_at - INTERVAL 1 DAY, expires_at = UTC_TIMESTAMP(3)
        """)
      #expect(try directory(delivery).endSession(session) == nil)
      #expect(delivery.sql("SELECT COUNT(*) FROM sessions WHERE ended_at IS NOT NULL") == "0")
    }
  }

  @Test func allSessionsOfAnAccountEndAlsoInBrowsers() throws {
    try withDelivery { delivery throws in
      for letter in ["a", "b"] { delivery.addDevice(String(repeating: letter, count: 64)) }
      delivery.sql(
        """
        INSERT INTO account_visits (id, account_id, proved_at, expires_at)
          SELECT REPEAT('v', 32), id, NOW(3), NOW(3) + INTERVAL 1 HOUR FROM accounts;
        INSERT INTO address_changes (account_id, email, token_hash, expires_at)
          SELECT id, 'new@example.org', REPEAT('t', 32), NOW(3) + INTERVAL 1 HOUR FROM accounts;
        """)
      _ = try delivery.rehearseAndDo {
        try AccountAdministration(records: $0).endSessions(of: "ann@example.org")
      }
      for table in ["account_visits", "address_changes", "push_tokens"] {
        #expect(delivery.sql("SELECT COUNT(*) FROM \(table)") == "0", "\(table)")
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM sessions WHERE ended_at IS NULL") == "0")
      #expect(delivery.administratorsEvents == ["logout all devices, by an administrator"])
      #expect(try directory(delivery).endSessions(of: "nobody@example.org") == nil)
    }
  }

  private func directoryWithMails(
    _ delivery: TestDelivery, isRehearsal: Bool
  ) -> AccountAdministration {
    let keys = MailKeys(sealing: TestDelivery.boxKeys.publicKeys, links: nil)
    return AccountAdministration(
      records: Database(delivery.account(of: "companion"), mailKeys: keys)
        .records(at: .now(), from: .administrator, isRehearsal: isRehearsal))
  }

  enum Act: String, CaseIterable {
    case ban, unban, delete

    func run(_ directory: AccountAdministration, _ email: String) throws -> Change? {
      switch self {
      case .ban: try directory.ban(email, because: "Sends spam")
      case .unban: try directory.unban(email, because: "It was not her")
      case .delete: try directory.delete(email, because: "She asked")
      }
    }
  }

  /// Uses the companion's rights. The next pass sends the mail.
  @Test func accountsAreBannedUnbannedAndDeleted() throws {
    try withDelivery { delivery throws in
      delivery.addDevice(String(repeating: "a", count: 64))
      delivery.sql("UPDATE accounts SET email_verified_at = NOW(3)")
      for act in Act.allCases {
        let change = try delivery.rehearseAndDo { records in
          try act.run(
            directoryWithMails(delivery, isRehearsal: records.isRehearsal), "ANN@example.org")
        }
        #expect(change.text.contains("ann@example.org"))
        #expect(change.text.hasSuffix("The owner gets a mail."), "\(change.text)")
        #expect(
          try act.run(directoryWithMails(delivery, isRehearsal: false), "ann@example.org") == nil,
          "once")
        let shown = try directory(delivery).show("ann@example.org", limit: 1)
        if let account = try shown.map({ try rows("accounts", of: $0) })?.first {
          #expect(account["ban_reason"] as? String == (act == .ban ? "Sends spam" : nil))
          #expect((account["banned_at"] is String) == (act == .ban))
        }
        let script = try delivery.script("cat > \(delivery.folder)/\(act)")
        try delivery.companion(mailer: .command(script)).pass()
        let mail = try delivery.text("\(act)")
        let kind = act == .delete ? "is deleted" : act == .ban ? "is closed" : "is open again"
        #expect(mail.contains("Subject: Your account \(kind)"), "\(mail)")
        #expect(!mail.contains("spam") && !mail.contains("She asked"))
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM accounts") == "0")
      #expect(
        delivery.administratorsEvents == [
          "account_banned Sends spam", "account_unbanned It was not her",
          "account_deleted by an administrator: She asked",
        ])
    }
  }

  @Test func nobodyIsToldAtAnAddressThatIsNotProven() throws {
    try withDelivery { delivery throws in
      delivery.addDevice(String(repeating: "a", count: 64))
      delivery.sql("UPDATE accounts SET email_verified_at = NULL")
      let change = try directoryWithMails(delivery, isRehearsal: false)
        .ban("ann@example.org", because: "Spam")
      #expect(change?.text.hasSuffix("No mail is sent: the address is not confirmed.") == true)
      #expect(delivery.sql("SELECT COUNT(*) FROM outbox") == "0")
    }
  }

  /// A companion has claimed it.
  @Test func aBanDoesNotWaitForAJobOfAnotherAccount() throws {
    try withDelivery { delivery throws in
      delivery.addDevice(String(repeating: "a", count: 64))
      delivery.sql(
        """
        INSERT INTO jobs (id, kind, request, request_id, state, finished_at)
          SELECT UUID(), 'turn_check', '{}', 'r', IF(seq = 1, 'open', 'dead'), IF(seq = 1, NULL, NOW(3))
          FROM seq_1_to_10
        """)
      let holder = try Connection(delivery.root)
      _ = try holder.execute("SET autocommit = 0")
      _ = try holder.execute("SELECT id FROM jobs WHERE state = 'open' FOR UPDATE")
      // It would fail, because the lock stays until it has returned.
      let change = try directoryWithMails(delivery, isRehearsal: false)
        .ban("ann@example.org", because: "Spam")
      #expect(change != nil)
    }
  }

  @Test(arguments: ["", "x", "' OR 1=1", "01890a5d-ac96-774b-bcce-b302099a8fff"])
  func anUnknownSessionEndsNothing(_ id: String) throws {
    try withDelivery { delivery throws in
      delivery.addDevice(String(repeating: "a", count: 64))
      let before = delivery.dump
      #expect(try directory(delivery).endSession(id) == nil)
      #expect(delivery.dump == before)
    }
  }
}

import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Accounts, devices and sessions at a terminal.
@Suite struct AccountDirectoryTests {
  private func directory(_ delivery: TestDelivery) -> AccountDirectory {
    AccountDirectory(records: delivery.records())
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
        lines[0] == "ID                                    CREATED               PROVEN  EMAIL")
      #expect(lines[1].hasSuffix("  2026-11-01T00:00:00Z  -       p1@example.org"))
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

  /// What a sign-out in the app ends, ends here: the session, the tokens, also that of the preferences.
  @Test func aSessionIsEndedAsASignOutEndsIt() throws {
    try withDelivery { delivery throws in
      let (device, session) = delivery.addDevice(String(repeating: "a", count: 64))
      let other = delivery.addDevice(String(repeating: "b", count: 64))
      let change = try delivery.rehearseAndDo {
        try AccountDirectory(records: $0).endSession(session)
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
        try AccountDirectory(records: $0).endSessions(of: "ann@example.org")
      }
      for table in ["account_visits", "address_changes", "push_tokens"] {
        #expect(delivery.sql("SELECT COUNT(*) FROM \(table)") == "0", "\(table)")
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM sessions WHERE ended_at IS NULL") == "0")
      #expect(delivery.administratorsEvents == ["logout all devices, by an administrator"])
      #expect(try directory(delivery).endSessions(of: "nobody@example.org") == nil)
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

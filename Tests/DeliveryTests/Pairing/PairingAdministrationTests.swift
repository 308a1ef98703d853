import Administration
import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

/// Pairing, listing and revoking phones from a terminal, with the companion's own rights.
@Suite struct PairingAdministrationTests {
  private static let now = Timestamp(seconds: 1_795_000_000)

  private static let issuer = PairingIssuer(
    keys: TestDelivery.keyring, randomBytes: randomBytes(PairingToken.idSize))

  /// A site that pairs phones.
  private struct PairingSite {
    let delivery: TestDelivery
    let requiresAuth: Bool

    var agent: GuardedAgent {
      GuardedAgent(publicURL: "http://127.0.0.1:8766", repo: "cdev", requiresAuth: requiresAuth)
    }

    func sql(_ statements: String) -> String { delivery.sql(statements) }

    func directory(at now: Timestamp = PairingAdministrationTests.now) -> PairingAdministration {
      let database = Database(accountSettings(of: "companion", in: delivery.root))
      return PairingAdministration(
        records: database.records(at: now, from: .companion), agent: agent,
        keys: TestDelivery.keyring)
    }

    func responder(at now: Timestamp = PairingAdministrationTests.now) -> Records {
      Database(accountSettings(of: "responder", in: delivery.root))
        .records(at: now, from: Origin(requestID: "r", address: "192.0.2.1"))
    }

    func phones(at now: Timestamp = PairingAdministrationTests.now) -> PairedPhones {
      PairedPhones(records: delivery.companionDatabase.records(at: now, from: .administrator))
    }

    func list(at now: Timestamp = PairingAdministrationTests.now) throws -> String {
      try phones(at: now).list().text
    }

    func token(at now: Timestamp = PairingAdministrationTests.now) throws -> PairingToken? {
      let json = try directory(at: now).json()
      let text = json.firstMatch(of: /"token":"([^"]+)"/).map { String($0.1) }
      return text.flatMap { PairingToken($0, signedWith: TestDelivery.keyring) }
    }

    func pair(userAgent: String = "cdev/1.0", at now: Timestamp = PairingAdministrationTests.now)
      throws
      -> PairedDevice
    {
      let device = try responder(at: now).pairedDevices.pair(
        timeOrderedUUID(milliseconds: now.milliseconds),
        exchanging: try #require(try token(at: now)), userAgent: userAgent)
      return try #require(device)
    }

    func admission(of device: PairedDevice) throws -> Admission {
      let access = device.accessToken(
        by: PairingAdministrationTests.issuer, at: PairingAdministrationTests.now)
      let token = try #require(PairingToken(access.text, signedWith: TestDelivery.keyring))
      return try responder().agentAccess.admit(token)
    }
  }

  private func withSite(
    requiresAuth: Bool = true, _ body: (PairingSite) throws -> Void
  ) throws {
    try withDelivery { delivery in
      try body(PairingSite(delivery: delivery, requiresAuth: requiresAuth))
    }
  }

  @Test func theTokenIsTheOneThatTheResponderShows() throws {
    try withSite { site in
      let token = try #require(try site.token())
      #expect(try site.token() == token)
      let shown = try site.responder().pairingTokens.info(of: site.agent, issuer: Self.issuer)
      #expect(shown.token?.text == token.signedText(with: TestDelivery.keyring.newest))
    }
  }

  @Test func theTerminalShowsTheCodeAndItsFacts() throws {
    try withSite { site in
      let text = try site.directory().text()
      let session = site.sql("SELECT session FROM pairing_server")
      #expect(
        text.hasSuffix(
          """

          WebSocket      ws://127.0.0.1:8766/ws
          HTTP           http://127.0.0.1:8766
          Session        \(session.prefix(8))...
          Repo           cdev
          Auth Required
          Token expires  2026-11-18T12:06:40Z
          """))
      #expect(text.contains("█"))
    }
  }

  @Test func withoutAuthenticationThereIsNoToken() throws {
    try withSite(requiresAuth: false) { site in
      let json = try site.directory().json()
      #expect(!json.contains("token"))
      #expect(try site.directory().text().hasSuffix("No Auth Required"))
      #expect(site.sql("SELECT COUNT(*) FROM pairing_tokens") == "0")
    }
  }

  @Test func phonesAreListedByLastUse() throws {
    try withSite { site in
      let first = try site.pair()
      let second = try site.pair(userAgent: "x", at: Self.now + .seconds(60))
      let lines = try site.list(at: Self.now + .seconds(61)).split(separator: "\n")
      try #require(lines.count == 3)
      #expect(lines[0].hasPrefix("ID "))
      #expect(lines[1].hasPrefix(second.id))
      #expect(
        lines[2]
          == "\(first.id)  2026-11-18T11:06:40Z  2026-11-18T11:06:40Z  192.0.2.1  -     cdev/1.0")
      let week = Duration.seconds(604_800)
      #expect(
        try site.list(at: Self.now + week + .seconds(60)).split(separator: "\n").count == 1)
    }
  }

  @Test func controlsInAUserAgentDoNotReachTheTerminal() throws {
    try withSite { site in
      _ = try site.pair(userAgent: "a\u{1b}[2Jb\u{202e}c\nd\u{9b}e")
      let list = try site.list()
      #expect(list.hasSuffix("  a\u{FFFD}[2Jb\u{FFFD}c\u{FFFD}d\u{FFFD}e"))
      #expect(list.split(separator: "\n").count == 2)
      // A value of an earlier version.
      _ = site.sql("UPDATE pairings SET user_agent = X'611B5B324A62E280AE630A64C29B65'")
      let older = try site.list()
      #expect(older.hasSuffix("  a·[2Jb·c·d·e"))
      #expect(older.split(separator: "\n").count == 2)
    }
  }

  @Test func aRevokedPhoneIsRefusedAndThatIsAudited() throws {
    try withSite { site in
      let (gone, other) = (try site.pair(), try site.pair())
      #expect(try site.admission(of: gone) == .admitted(.phone(id: gone.id, name: "cdev/1.0")))
      #expect(try site.phones().revoke(gone.id) != nil)
      #expect(try site.admission(of: gone) == .refused)
      #expect(try site.admission(of: other) == .admitted(.phone(id: other.id, name: "cdev/1.0")))
      #expect(
        site.sql("SELECT end_reason, is_live FROM paired_devices WHERE device_id = '\(gone.id)'")
          == "administrator\t0")
      #expect(
        site.sql(
          "SELECT event, detail, request_id FROM audit_log WHERE device_id = '\(gone.id)' ORDER BY id DESC LIMIT 1"
        ) == "pairing_ended\tby administrator\tadministrator")
      #expect(try site.phones().revoke(gone.id) == nil, "once")
    }
  }

  @Test func aPhoneIsRenamedAndListedByItsName() throws {
    try withSite { site in
      let phone = try site.pair(at: .now())
      let change = try site.delivery.rehearseAndDo {
        try PairedPhones(records: $0).giveName(" Ann's phone ", to: phone.id)
      }
      #expect(change.text == "Renamed the paired phone \(phone.id).")
      #expect(try site.list(at: .now()).hasSuffix("  192.0.2.1  Ann's phone  cdev/1.0"))
      #expect(site.sql("SELECT name FROM paired_devices") == "Ann's phone")
      #expect(try site.phones(at: .now()).giveName("", to: phone.id) != nil)
      #expect(try site.list(at: .now()).hasSuffix("  192.0.2.1  -     cdev/1.0"))
      #expect(
        site.sql(
          "SELECT device_id, request_id FROM audit_log WHERE event = 'phone_renamed' LIMIT 1"
        ) == "\(phone.id)\tadministrator")
    }
  }

  @Test(arguments: [String(repeating: "x", count: 65), "a\u{1b}[2J", "a\nb"])
  func aNameThatNobodyCanMeanIsRefused(_ name: String) throws {
    try withSite { site in
      let phone = try site.pair()
      #expect(throws: BadArguments.self) { try site.phones().giveName(name, to: phone.id) }
      #expect(site.sql("SELECT name FROM pairings") == "")
    }
  }

  @Test(arguments: ["", "x", "01890a5d-ac96-774b-bcce-b302099a8fff", "' OR 1=1"])
  func anUnknownIDRenamesAndRevokesNothing(_ id: String) throws {
    try withSite { site in
      _ = try site.pair()
      #expect(try site.phones().revoke(id) == nil)
      #expect(try site.phones().giveName("x", to: id) == nil)
      #expect(site.sql("SELECT COUNT(*) FROM pairings WHERE ended_at IS NULL AND name = ''") == "1")
    }
  }
}

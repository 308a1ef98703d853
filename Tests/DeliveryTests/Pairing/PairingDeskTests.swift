import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Pairing and putting out phones from a terminal, with the companion's own rights.
@Suite struct PairingDeskTests {
  private static let now = Timestamp(seconds: 1_795_000_000)

  private func withDesk(
    requiresAuth: Bool = true, _ body: (PairingDesk, TestDelivery, Database) throws -> Void
  ) throws {
    try withDelivery { site in
      let agent = GuardedAgent(
        publicURL: "http://127.0.0.1:8766", repo: "cdev", requiresAuth: requiresAuth)
      let desk = PairingDesk(
        database: Database(accountSettings(of: "companion", in: site.root)), agent: agent,
        keys: TestDelivery.keys)
      try body(desk, site, Database(accountSettings(of: "responder", in: site.root)))
    }
  }

  private func token(_ desk: PairingDesk, at now: Timestamp = now) throws -> PairingToken? {
    let json = try desk.json(at: now)
    let text = json.firstMatch(of: /"token":"([^"]+)"/).map { String($0.1) }
    return text.flatMap { PairingToken($0, signedWith: TestDelivery.keys) }
  }

  private func pair(
    _ desk: PairingDesk, _ responder: Database, userAgent: String = "cdev/1.0",
    at now: Timestamp = now
  ) throws -> PairedDevice {
    let token = try #require(try token(desk, at: now))
    let device = try responder.exchange(
      token, forDevice: timeOrderedUUID(milliseconds: now.milliseconds), userAgent: userAgent,
      from: Origin(requestID: "r", address: "192.0.2.1"), at: now)
    return try #require(device)
  }

  @Test func theTokenIsTheOneThatTheResponderShows() throws {
    try withDesk { desk, _, responder in
      let token = try #require(try token(desk))
      #expect(try self.token(desk) == token)
      let minting = Minting(
        keys: TestDelivery.keys, randomBytes: randomBytes(PairingToken.idSize), now: Self.now)
      let shown = try responder.pairingInfo(
        of: GuardedAgent(publicURL: "http://127.0.0.1:8766", repo: "cdev"), minting)
      #expect(shown.token?.text == token.text(signedWith: TestDelivery.keys.newest))
    }
  }

  @Test func aTerminalShowsCodeAndFacts() throws {
    try withDesk { desk, site, _ in
      let text = try desk.text(at: Self.now)
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
    try withDesk(requiresAuth: false) { desk, site, _ in
      let json = try desk.json(at: Self.now)
      #expect(!json.contains("token"))
      #expect(try desk.text(at: Self.now).hasSuffix("No Auth Required"))
      #expect(site.sql("SELECT COUNT(*) FROM pairing_tokens") == "0")
    }
  }

  @Test func phonesAreListedTheOneUsedLastFirst() throws {
    try withDesk { desk, site, responder in
      let first = try pair(desk, responder)
      let second = try pair(desk, responder, userAgent: "x", at: Self.now + .seconds(60))
      let lines = try desk.devices(at: Self.now + .seconds(61)).split(separator: "\n")
      try #require(lines.count == 3)
      #expect(lines[0].hasPrefix("ID "))
      #expect(lines[1].hasPrefix(second.id))
      #expect(
        lines[2]
          == "\(first.id)  2026-11-18T11:06:40Z  2026-11-18T11:06:40Z  192.0.2.1        cdev/1.0")
      let week = Duration.seconds(604_800)
      #expect(
        try desk.devices(at: Self.now + week + .seconds(60)).split(separator: "\n").count == 1)
    }
  }

  @Test func whatAnAppSaysOfItselfDrivesNoTerminal() throws {
    try withDesk { desk, _, responder in
      _ = try pair(desk, responder, userAgent: "a\u{1b}[2Jb\u{202e}c\nd\u{9b}e")
      let list = try desk.devices(at: Self.now)
      #expect(list.hasSuffix("  a·[2Jb·c·d·e"))
      #expect(list.split(separator: "\n").count == 2)
    }
  }

  @Test func aRevokedPhoneIsOutAndThatIsWrittenDown() throws {
    try withDesk { desk, site, responder in
      let (gone, other) = (try pair(desk, responder), try pair(desk, responder))
      let minting = Minting(
        keys: TestDelivery.keys, randomBytes: randomBytes(PairingToken.idSize), now: Self.now)
      #expect(try responder.admit(gone.accessToken(minting), at: Self.now) == .admitted)
      #expect(try desk.revoke(gone.id, at: Self.now))
      #expect(try responder.admit(gone.accessToken(minting), at: Self.now) == .refused)
      #expect(try responder.admit(other.accessToken(minting), at: Self.now) == .admitted)
      #expect(
        site.sql("SELECT end_reason, is_live FROM paired_devices WHERE device_id = '\(gone.id)'")
          == "administrator\t0")
      #expect(
        site.sql(
          "SELECT event, detail, request_id FROM audit_log WHERE device_id = '\(gone.id)' ORDER BY id DESC LIMIT 1"
        ) == "pairing_ended\tby administrator\tswitchboard-companion")
      #expect(try !desk.revoke(gone.id, at: Self.now), "once")
    }
  }

  @Test(arguments: ["", "x", "01890a5d-ac96-774b-bcce-b302099a8fff", "' OR 1=1"])
  func nobodyIsPutOutByAnIdThatNobodyHas(_ id: String) throws {
    try withDesk { desk, site, responder in
      _ = try pair(desk, responder)
      #expect(try !desk.revoke(id, at: Self.now))
      #expect(site.sql("SELECT COUNT(*) FROM pairings WHERE ended_at IS NULL") == "1")
    }
  }
}

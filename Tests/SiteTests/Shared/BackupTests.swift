import Foundation
import Support
import Testing

/// Effects of a restore and of lost keys on people.
@Suite(.serialized) struct BackupTests {
  private func restart(_ site: Site, _ order: String) {
    for program in ["companion", "relay", "responder"] {
      let outcome = Site.run(["sv", "-w", "30", order, "\(site.state)/services/\(program)"])
      #expect(outcome.status == 0, "\(outcome.output)")
    }
  }

  private func refresh(_ person: Person, at site: Site) -> Int {
    site.post("/api/mobile/auth/token/refresh", #"{"refreshToken":"\#(person.refreshToken)"}"#)
      .status
  }

  private func summary(_ person: Person, at site: Site) -> Int {
    site.curl("/api/mobile/wallet/summary", "--header", person.bearer).status
  }

  @Test func afterARestoreEverybodyIsWhereTheManualSays() async throws {
    try await withSite { site in
      let (quiet, busy, gone) = (
        try site.signUp(email: "quiet@example.org", device: "q"),
        try site.signUp(email: "busy@example.org", device: "b"),
        try site.signUp(email: "gone@example.org", device: "g")
      )
      let phone = try site.pair()
      let shown = try site.pairingToken()
      let key = Site.run(["age-keygen", "-o", "\(site.state)/identity"])
      let recipient = try #require(key.output.firstMatch(of: /age1\w+/)).output
      let file = "\(site.state)/backup.age"
      let made = site.companion(
        ["backup", "--to", file, "--recipient", String(recipient), "--root", site.state])
      try #require(made.status == 0, "\(made.output)")

      // After the backup a person signs up, a person gets new tokens, and a person signs out.
      let late = try site.signUp(email: "late@example.org", device: "l")
      let renewed = site.post(
        "/api/mobile/auth/token/refresh", #"{"refreshToken":"\#(busy.refreshToken)"}"#)
      let newer = Person(
        email: busy.email, token: try renewed.string("accessToken"),
        refreshToken: try renewed.string("refreshToken"))
      #expect(summary(newer, at: site) == 200)
      #expect(site.post("/api/mobile/auth/logout", "{}", gone.bearer).status == 200)
      #expect(summary(gone, at: site) == 401)

      restart(site, "down")
      let restored = site.companion(
        [
          "restore", file, "--identity", "\(site.state)/identity", "--root", site.state, "--schema",
          projectSchema.path(), "--replace", "--yes",
        ])
      #expect(restored.status == 0, "\(restored.output)")
      restart(site, "up")
      wait(for: "a healthy site") { site.curl("/health").status == 200 }

      #expect(summary(quiet, at: site) == 200)
      #expect(refresh(quiet, at: site) == 200)
      #expect(refresh(newer, at: site) == 401, "who got new tokens signs in again")
      #expect(refresh(late, at: site) == 401, "an account that was made since is gone")
      #expect(summary(gone, at: site) == 200, "what was ended lives again")
      #expect(refresh(gone, at: site) == 200)
      let bearer = "Authorization: Bearer \(phone.access)"
      #expect(site.curl("/api/auth/ticket", "--header", bearer, "--data", "{}").status == 200)
      #expect(site.post("/api/auth/exchange", #"{"pairing_token":"\#(shown)"}"#).status != 200)
      #expect(
        try site.post("/api/auth/exchange", #"{"pairing_token":"\#(site.pairingToken())"}"#).status
          == 200)
    }
  }

  /// The manual's commands for each file of keys, and the credentials that work afterwards.
  @Test(arguments: [
    // file, session, device credential and paired phone
    ("jwt-keys", 401, 200), ("hmac-keys", 401, 200), ("credential-keys", 200, 401),
    ("payment-keys", 200, 200), ("companion-keys", 200, 200),
  ])
  func aSiteThatLosesItsKeysGetsNewOnes(_ name: String, session: Int, phone: Int) async throws {
    try await withSite { site in
      let person = try site.signUp()
      let paired = try site.pair()
      let file = "\(site.state)/secrets/\(name)"
      try FileManager.default.removeItem(atPath: file)
      #expect(site.companion(["keys", "add", file]).status == 0)
      if name == "companion-keys" {
        let printed = site.companion(["keys", "public", file])
        try printed.output.write(
          toFile: "\(site.state)/secrets/companion-public-keys", atomically: true, encoding: .utf8)
      }
      site.restart("companion")
      site.restart("responder")

      #expect(refresh(person, at: site) == session)
      let renewed = site.post("/api/auth/refresh", #"{"refresh_token":"\#(paired.refresh)"}"#)
      #expect(renewed.status == phone)
      // People can sign in again with a mailed code, and pair a phone again.
      #expect(site.post("/api/mobile/auth/login", person.body).status == 200)
      try wait(for: "a mail with a code") { try site.mailedCode(to: person.email) != nil }
      let code = try #require(try site.mailedCode(to: person.email))
      let verify = #"{"email":"\#(person.email)","deviceId":"phone-1","code":"\#(code)"}"#
      #expect(site.post("/api/mobile/auth/login/verify", verify).status == 200)
      _ = try site.pair()
    }
  }
}

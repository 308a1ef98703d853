import Foundation
import Store
import Support
import Testing

@testable import API

/// The rows of the audit log about accounts, and the secrets that must not be in the database.
@Suite struct AccountAuditTests {
  /// The rows of an event: account, device, request id, address, detail, separated by tabs.
  private func rows(_ site: TestApplication, _ event: String) -> [String] {
    site.sql(
      """
      SELECT account_id, device_id, request_id, address, detail FROM audit_log
      WHERE event = '\(event)' ORDER BY id
      """
    ).split(separator: "\n").map(String.init)
  }

  private func deviceID(_ site: TestApplication, _ client: String = "device-1") -> String {
    site.sql("SELECT id FROM devices WHERE client_device_id = '\(client)'")
  }

  private func row(_ account: String, _ device: String, _ detail: String = "NULL") -> [String] {
    [[account, device, "request-1", "192.0.2.1", detail].joined(separator: "\t")]
  }

  @Test func signingUpIsAudited() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(rows(site, "account_created") == row(ann.accountID, "NULL"))
      #expect(rows(site, "sign_in") == row(ann.accountID, deviceID(site)))
      #expect(site.sql("SELECT DISTINCT at FROM audit_log").hasPrefix("2026-11-1"))
    }
  }

  @Test func auditRowsHoldTheRequestIDAndTheAddress() throws {
    try withApplication { site in
      let answer = site.send(
        "POST", AccountPath.registerDevice,
        #"{"deviceId":"device-1","deviceName":"Phone","platform":"ios"}"#,
        fields: [("X-Forwarded-For", "203.0.113.66"), ("X-Real-IP", "203.0.113.67")],
        address: "2001:db8::1", requestID: "0123456789abcdef0123456789abcdef")
      #expect(answer.status == 200)
      #expect(
        rows(site, "device_registered") == [
          "NULL\tNULL\t0123456789abcdef0123456789abcdef\t2001:db8::1\tNULL"
        ])
      let at = Double(
        site.sql("SELECT UNIX_TIMESTAMP(CONVERT_TZ(at, '+00:00', @@time_zone)) FROM audit_log"))
      #expect(at == Double(site.now.seconds))
    }
  }

  @Test func signInsWithSpentCodesAndChallengesAreAudited() throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      _ = try site.setUp(of: ann)
      let own = row(ann.accountID, deviceID(site))[0].dropLast("NULL".count)
      let challenge = try site.challenge()
      let signature = PhoneKey.one.sign(challenge)
      #expect(site.verify(challenge, signature: signature).status == 200)
      #expect(site.verify(challenge, signature: signature).isWrongSignature)
      #expect(rows(site, "sign_in_refused") == [own + "biometric: no live challenge"])
      #expect(site.requestCode().status == 200)
      let code = try site.mailedCode()
      #expect(site.verify(code: code).status == 200)
      #expect(site.verify(code: code).status == 401)
      #expect(rows(site, "sign_in_refused").last == own + "no live code")
      let authenticator = Authenticator()
      try site.addPasskey(authenticator, of: try site.signIn())
      let asserted = authenticator.asserted(answering: try site.signInChallenge())
      #expect(site.verify(asserted).status == 200)
      #expect(site.verify(asserted).isRefusedPasskey)
      #expect(
        rows(site, "sign_in_refused").last
          == "\(ann.accountID)\tNULL\trequest-1\t192.0.2.1\tpasskey: no live challenge")
      // At most 600 rows an hour from one address.
      site.sql("UPDATE rate_limits SET hits = 599 WHERE name = 'audit-sign_in_refused'")
      for _ in 1...3 { #expect(site.verify(code: code).status == 401) }
      #expect(rows(site, "sign_in_refused").count == 4)
    }
  }

  @Test(arguments: [true, false])
  func requestedRefusedAndDeadCodesAreAudited(onOwnDevice isOwn: Bool) throws {
    try withApplication { site in
      let ann = try site.signUp(device: isOwn ? "device-1" : "device-0")
      #expect(site.requestCode().status == 200)
      for _ in 1...6 { #expect(site.verify(code: "no code").status == 401) }
      let device = isOwn ? deviceID(site) : "NULL"
      #expect(rows(site, "code_requested") == row(ann.accountID, device))
      #expect(
        rows(site, "code_refused")
          == (1...4).flatMap { row(ann.accountID, device, "try \($0)") })
      #expect(rows(site, "code_dead") == row(ann.accountID, device, "try 5"))
    }
  }

  @Test func aSignInWithACodeIsAudited() throws {
    try withApplication { site in
      let ann = try site.signUp(device: "device-0")
      _ = try site.signIn()
      #expect(rows(site, "sign_in").last == row(ann.accountID, deviceID(site))[0])
    }
  }

  @Test func refreshesAreAudited() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let second = site.refresh(ann.refreshToken)
      #expect(site.refresh(ann.refreshToken).status == 200)
      #expect(rows(site, "refreshed") == row(ann.accountID, deviceID(site), "generation 2"))
      #expect(site.summary(try #require(second.accessToken)).status == 200)
      site.advance(by: .seconds(30))
      #expect(site.refresh(ann.refreshToken).status == 409)
      #expect(
        rows(site, "refresh_refused")
          == row(ann.accountID, deviceID(site), "another call has just refreshed"))
      site.advance(by: .seconds(40))
      #expect(site.refresh(ann.refreshToken).status == 401)
      #expect(
        rows(site, "refresh_reuse") == row(ann.accountID, deviceID(site), "generation 1 of 2"))
    }
  }

  @Test func logoutsAndRevocationsAreAudited() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.signIn(device: "device-2")
      let path = AccountPath.devices + "/device-2"
      #expect(site.send("DELETE", path, token: ann.accessToken).status == 200)
      #expect(rows(site, "device_revoked") == row(ann.accountID, deviceID(site, "device-2")))
      #expect(site.send("POST", AccountPath.logout, token: ann.accessToken).status == 200)
      let again = try site.signIn()
      let everywhere = site.send(
        "POST", AccountPath.logout, token: again.accessToken, query: "revokeAll=true")
      #expect(everywhere.status == 200)
      let device = deviceID(site)
      #expect(
        rows(site, "logout")
          == row(ann.accountID, device) + row(ann.accountID, device, "all devices"))
    }
  }

  @Test func changesOfPushTokensAreAudited() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let set = site.send(
        "POST", AccountPath.pushToken, jsonText(["pushToken": pushTokenText()]),
        token: ann.accessToken)
      #expect(set.status == 200)
      #expect(site.send("DELETE", AccountPath.pushToken, token: ann.accessToken).status == 200)
      for event in ["push_token_set", "push_token_removed"] {
        #expect(rows(site, event) == row(ann.accountID, deviceID(site)))
      }
    }
  }

  @Test func aRefusedCredentialIsAudited() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let other = try site.registerDevice("device-2")
      #expect(site.summary(ann.accessToken, credential: other).status == 401)
      #expect(rows(site, "credential_refused") == row(ann.accountID, deviceID(site)))
    }
  }

  /// The six digits of a code can be part of any number, so the test looks for them only where a
  /// code could be.
  @Test func noSecretIsInAnyColumn() throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      let ann = try site.signUp()
      let asked = site.requestCode(device: "device-2")
      let code = try site.mailedCode()
      _ = site.verify(code: "wrong-code", device: "device-2")
      let bob = site.verify(code: code, device: "device-2")
      let next = site.refresh(ann.refreshToken)
      _ = site.summary(try #require(next.accessToken), credential: credential)
      _ = site.refresh("a-dead-refresh-token")
      site.advance(by: .seconds(61))
      _ = site.refresh(ann.refreshToken)
      let tables = site.sql(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'"
      ).split(separator: "\n").map(String.init)
      #expect(tables.count > 10)
      let dump = tables.map { site.sql("SELECT * FROM \($0)") }.joined(separator: "\n")
      #expect(dump.contains("ann@example.org"))
      let tokens = [
        ann.accessToken, ann.refreshToken, bob.accessToken, bob.refreshToken, next.accessToken,
        next.refreshToken,
      ]
      let secrets =
        tokens.map { String($0?.split(separator: ".").last ?? "") }
        + [credential, asked.string("challenge") ?? "", "wrong-code", "a-dead-refresh-token"]
      for secret in secrets {
        #expect(!secret.isEmpty)
        #expect(!dump.contains(secret))
      }
      #expect(
        !site.sql("SELECT sealed, recipient, reason FROM outbox").contains(code))
      #expect(site.count("audit_log WHERE detail LIKE '%\(code)%'") == 0)
    }
  }
}

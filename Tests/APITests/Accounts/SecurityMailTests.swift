import Base
import Foundation
import Store
import Support
import Testing

@testable import API

/// Security mails to owners, and the link that ends a session.
@Suite struct SecurityMailTests {
  /// The kinds of the security mails, the oldest first.
  private func kinds(_ site: TestApplication) -> String {
    site.sql(
      """
      SELECT GROUP_CONCAT(kind ORDER BY id SEPARATOR ' ') FROM outbox
      WHERE kind NOT IN ('login_code', 'email_confirmation')
      """)
  }

  private func newest(_ site: TestApplication) throws -> (recipient: String, content: MailContent) {
    let row = site.sql(
      "SELECT id, sealed, recipient FROM outbox WHERE kind <> 'login_code' ORDER BY id DESC LIMIT 1"
    ).split(separator: "\t").map(String.init)
    try #require(row.count == 3)
    return (row[2], try site.mailContent(row[1], ofMail: row[0]))
  }

  private func signIn(
    _ site: TestApplication, on device: String, name: String = "Phone", language: String? = nil
  ) throws -> Answer {
    let fields = language.map { [(name: "Accept-Language", value: $0)] } ?? []
    let body = [
      "email": "ann@example.org", "deviceId": device, "deviceName": name, "platform": "ios",
      "method": "email",
    ]
    site.advance(by: .seconds(1))  // ids of mails sort by time
    let asked = site.send("POST", AccountPath.login, jsonText(body), fields: fields)
    try #require(asked.status == 200)
    let typed = body.merging(["code": try site.mailedCode()]) { $1 }
    let answer = site.send(
      "POST", AccountPath.verify, jsonText(typed), fields: fields, address: "198.51.100.4")
    try #require(answer.status == 200)
    return answer
  }

  @Test func aSignInOnANewDeviceIsToldOnce() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(kinds(site) == "NULL")
      _ = try signIn(site, on: "device-2", name: "Second phone")
      #expect(kinds(site) == "new_device")
      let (recipient, content) = try newest(site)
      #expect(recipient == "ann@example.org")
      #expect(content.device == "Second phone")
      #expect(content.address == "198.51.100.4")
      #expect(content.at == site.now)
      site.advance(by: .seconds(60))
      _ = try signIn(site, on: "device-2")
      _ = try signIn(site, on: "device-1")
      #expect(kinds(site) == "new_device")
    }
  }

  @Test func noOneIsToldBeforeTheAddressIsProven() throws {
    try withApplication { site in
      let session = try site.signUp(isProven: false)
      _ = try site.setUp(of: session)
      #expect(kinds(site) == "NULL")
    }
  }

  @Test func aBiometricKeyIsTold() throws {
    try withApplication { site in
      let session = try site.signUp()
      _ = try site.setUp(of: session)
      #expect(kinds(site) == "biometric_key_added")
    }
  }

  @Test func aReusedRefreshTokenIsToldWithoutALink() throws {
    try withApplication { site in
      let session = try site.signUp()
      let first = try #require(site.refresh(session.refreshToken).refreshToken)
      site.advance(by: .seconds(120))
      #expect(site.refresh(first).status == 200)
      site.advance(by: .seconds(120))
      #expect(site.refresh(session.refreshToken).status == 401)
      #expect(kinds(site) == "refresh_reused")
      #expect(try newest(site).content.secret == "")
      #expect(site.refresh(session.refreshToken).status == 401)
      #expect(kinds(site) == "refresh_reused")
    }
  }

  @Test func aMailHasTheLanguageThatTheLastSignInAskedFor() throws {
    try withApplication { site in
      let session = try site.signUp()
      _ = try site.setUp(of: session)
      #expect(try newest(site).content.language == .english)
      _ = try signIn(site, on: "device-2", language: "de-CH, en;q=0.5")
      #expect(try newest(site).content.language == .german)
      _ = try signIn(site, on: "device-3")
      #expect(try newest(site).content.language == .german)
      #expect(site.sql("SELECT language FROM accounts") == "de")
      _ = try signIn(site, on: "device-4", language: "ja")
      #expect(site.sql("SELECT language FROM accounts") == "de")
    }
  }

  @Test func aDeviceThatWasRevokedIsToldAgain() throws {
    try withApplication { site in
      let first = try site.signUp()
      _ = try signIn(site, on: "device-2")
      #expect(
        site.send("DELETE", "/api/mobile/devices/device-2", token: first.accessToken).status == 200)
      _ = try signIn(site, on: "device-2")
      #expect(kinds(site) == "new_device new_device")
    }
  }

  /// A credential bought with a stolen bearer token always causes a mail to the owner.
  @Test func aDeviceThatABearerAloneRegistersAgainIsTold() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(3000))
      let answer = site.send(
        "POST", AccountPath.registerDevice,
        jsonText(["deviceId": "device-1", "deviceName": "Phone", "platform": "ios"]),
        token: ann.accessToken)
      #expect(answer.status == 200)
      #expect(kinds(site) == "device_renewed")
    }
  }

  @Test func theEndOfAnAccountIsToldWhereItsAddressIsProven() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.send("DELETE", "/api/mobile/account", token: ann.accessToken).status == 200)
      #expect(kinds(site) == "account_deleted")
      #expect(try newest(site).recipient == "ann@example.org")
      let bob = try site.proveWithKey(
        site.signUp(email: "bob@example.org", device: "device-2", isProven: false))
      #expect(site.send("DELETE", "/api/mobile/account", token: bob.accessToken).status == 200)
      #expect(kinds(site) == "account_deleted")
    }
  }

  /// The sealed content must fit into its column; otherwise sign-ins fail, but only for existing
  /// accounts.
  @Test(arguments: ["😀", "é", "日"])
  func aLongNameOfADeviceIsNoFault(letter: String) throws {
    try withApplication { site in
      let name = String(repeating: letter, count: 200 / letter.unicodeScalars.count)
      let ann = try site.signUp()
      for email in ["ann@example.org", "nobody@example.org"] {
        #expect(site.requestCode(email, device: "device-9", name: name).status == 200)
      }
      _ = try signIn(site, on: "device-2", name: name)
      site.sql("UPDATE devices SET name = '\(name)'")
      site.advance(by: .seconds(1))
      _ = try site.setUp(of: ann)
      #expect(kinds(site) == "new_device biometric_key_added")
      #expect(try newest(site).content.device == String(repeating: letter, count: 40))
    }
  }

  // The link ---------------------------------------------------------------------------------------

  @Test func theLinkAsksAndThenSignsTheDeviceOut() throws {
    try withApplication { site in
      let first = try site.signUp()
      let second = try signIn(site, on: "device-2", name: "Second & phone")
      let token = try newest(site).content.secret
      let before = site.rows("accounts", "devices", "sessions")
      let page = site.send("GET", "/account/end", query: "token=\(token)")
      #expect(page.status == 200)
      #expect(page.text.contains("<bdi>Second &amp; phone</bdi>"))
      #expect(site.rows("accounts", "devices", "sessions") == before)

      site.sql(
        """
        INSERT INTO address_changes (account_id, email, token_hash, expires_at)
        SELECT id, 'thief@example.org', UNHEX(SHA2('x', 256)), NOW(3) + INTERVAL 1 DAY FROM accounts
        """)
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 200)
      #expect(site.count("address_changes") == 0)
      let bearer = try #require(second.accessToken)
      #expect(site.send("GET", "/api/mobile/devices", token: bearer).status == 401)
      #expect(site.send("GET", "/api/mobile/devices", token: first.accessToken).status == 200)
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'device_revoked'")
          == "by the link in a mail")
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 404)
    }
  }

  /// Whoever has read the mail must not sign the owner out again and again.
  @Test func theLinkSignsTheDeviceOutOnce() throws {
    try withApplication { site in
      _ = try site.signUp()
      _ = try signIn(site, on: "device-2")
      let token = try newest(site).content.secret
      // A thief who signs in again on the same device does not escape the link.
      _ = try signIn(site, on: "device-2")
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 200)
      #expect(site.count("sessions WHERE end_reason = 'device_revoked'") == 2)
      let again = try #require(try signIn(site, on: "device-2").accessToken)
      _ = site.send(
        "PUT", "/api/mobile/profile", #"{"email":"new@example.org"}"#, token: again)
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 404)
      #expect(site.send("GET", "/api/mobile/devices", token: again).status == 200)
      #expect(site.count("address_changes") == 1)
    }
  }

  @Test func theLinkRemovesThePasskeyThatWasAdded() throws {
    try withApplication { site in
      let session = try site.signUp()
      try site.addPasskey(Authenticator(), of: session)
      site.sql("DELETE FROM outbox")
      try site.addPasskey(Authenticator(), of: session)
      let token = try newest(site).content.secret
      #expect(
        site.send("GET", "/account/end", query: "token=\(token)").text.contains("passkey"))
      #expect(site.send("POST", "/account/end", "token=\(token)").status == 200)
      #expect(site.count("passkeys") == 1)
      #expect(site.count("devices WHERE revoked_at IS NULL") == 0)
    }
  }

  @Test func aLinkThatIsNotOursEndsNothing() throws {
    try withApplication { site in
      let session = try site.signUp()
      _ = try signIn(site, on: "device-2")
      let token = try newest(site).content.secret
      let id = site.sql("SELECT id FROM sessions ORDER BY created_at LIMIT 1")
      let mac = try #require(token.split(separator: ".").last)
      let confirmation = LinkToken.make(
        for: .confirmation, of: [id, ""], with: TestApplication.keys.newest)
      for wrong in ["", ".", "..", token + "x", "x" + token, "\(id)..\(mac)", confirmation] {
        #expect(site.send("GET", "/account/end", query: "token=\(wrong)").status == 404)
        #expect(site.send("POST", "/account/end", "token=\(wrong)").status == 404)
      }
      #expect(site.send("GET", "/api/mobile/devices", token: session.accessToken).status == 200)
    }
  }
}

import Foundation
import Support
import Testing

/// Passkeys of an app, through nginx and the programs.
@Suite struct PasskeySiteTests {
  private func json(_ members: [String: any Sendable]) throws -> String {
    String(decoding: try JSONSerialization.data(withJSONObject: members), as: UTF8.self)
  }

  @Test func registeredPasskeysSignInOnOtherPhones() async throws {
    let app = "https://app.example.org"
    try await withSite(environment: ["SWITCHBOARD_PASSKEY_ORIGINS": app]) { site in
      let person = try site.signUp()
      try site.confirm(person, "yes")
      let options = site.post("/api/mobile/auth/passkey/register/options", "{}", person.bearer)
      #expect(options.status == 200)
      var authenticator = Authenticator(partyID: "127.0.0.1", origin: site.url)
      authenticator.signCount = 1
      let created = authenticator.created(answering: try options.string("challenge"))
      let added = site.post(
        "/api/mobile/auth/passkey/register/verify",
        try json(["credential": created, "name": "Key"]), person.bearer)
      #expect(added.status == 200, "\(added.body)")

      var newest = person.bearer
      // First on the site's own page, then in an app with another origin.
      for (phone, origin) in [("phone-2", site.url), ("phone-3", app)] {
        let login = site.post(
          "/api/mobile/auth/login",
          try json([
            "email": person.email, "deviceId": phone, "deviceName": "Phone", "platform": "ios",
          ]))
        #expect(try login.string("method") == "passkey")
        authenticator.origin = origin
        authenticator.signCount += 1
        let credential = authenticator.asserted(answering: try login.string("challenge"))
        let body = try json(["credential": credential, "deviceId": phone])
        let signedIn = site.post("/api/mobile/auth/login/verify", body)
        #expect(signedIn.status == 200, "\(signedIn.body)")
        newest = "Authorization: Bearer \(try signedIn.token("accessToken"))"
        let list = site.curl("/api/mobile/passkeys", "--header", newest)
        #expect(list.body.contains(#""name":"Key""#))
        #expect(!list.body.contains(#""lastUsedAt":null"#))
        #expect(site.post("/api/mobile/auth/login/verify", body).status == 401)
      }

      let path = "/api/mobile/passkeys/\(try added.string("id"))"
      let refused = site.curl(path, "--request", "DELETE", "--header", person.bearer)
      #expect(refused.status == 403)
      let removed = site.curl(path, "--request", "DELETE", "--header", newest)
      #expect(removed.status == 200)
      let login = site.post("/api/mobile/auth/login", person.body)
      #expect(try login.string("method") == "email")
      try wait(for: "a mail with a code") { try site.mailedCode(to: person.email) != nil }
    }
  }
}

import Foundation
import Support
import Testing

/// Passkeys of other people's clients, through nginx and the programs.
@Suite struct ForeignPasskeyTests {
  /// soft-webauthn and fido2, which `Tests/run` fetches. soft-webauthn never verifies its user, so a passkey of
  /// it is refused, unless the script sets that flag.
  @Test func clientsInPythonRegisterAndSignIn() async throws {
    try await withSite(host: "localhost") { site in
      let person = try site.signUp()
      try site.confirm(person, "yes")
      let script = projectFolder.appending(path: "Tests/Clients/passkeys.py").path()
      let printed = Site.run(
        ["python3", script, site.url, person.token, person.email],
        environment: ["PYTHONPATH": projectFolder.appending(path: ".build/webauthn").path()])
      #expect(
        printed.output == """
          SoftWebauthn registers 400
          VerifyingSoftWebauthn registers 200
          VerifyingSoftWebauthn signs in 200
          VerifyingSoftWebauthn signs in with the same assertion 401
          Fido2 registers 200
          Fido2 signs in 200
          Fido2 signs in with the same assertion 401

          """)
      #expect(
        try site.sql("SELECT name, uses FROM passkeys ORDER BY name").trimmed
          == "Fido2\t1\nVerifyingSoftWebauthn\t1")
    }
  }

  /// Virtual authenticators of Chromium: each registers, and signs in on a phone of its own. The next one is added by
  /// that session.
  @Test func chromiumsAuthenticatorsRegisterAndSignIn() async throws {
    try await withSite(host: "localhost") { site in
      var person = try site.signUp()
      try site.confirm(person, "yes")
      for transport in ["internal", "usb", "nfc"] {
        let browser = try open(site, with: ("ctap2", transport), verifiesUser: true)
        let created = try answer(
          of: "create", to: creationOptions(of: site, for: person), in: browser)
        let added = site.post(
          "/api/mobile/auth/passkey/register/verify",
          #"{"credential":\#(created),"name":"\#(transport)"}"#, person.bearer)
        #expect(added.status == 200, "\(transport): \(added.body)")
        let asserted = try answer(
          of: "get", to: requestOptions(of: site, for: person, on: transport), in: browser)
        let signedIn = site.post(
          "/api/mobile/auth/login/verify",
          #"{"credential":\#(asserted),"deviceId":"phone-\#(transport)"}"#)
        #expect(signedIn.status == 200, "\(transport): \(signedIn.body)")
        person = Person(
          email: person.email, token: try signedIn.token("accessToken"),
          refreshToken: try signedIn.token("refreshToken"))
      }
      #expect(try site.sql("SELECT SUM(uses) FROM passkeys").trimmed == "3")
    }
  }

  /// Our options require a verified user, so the browser offers no authenticator that cannot do this.
  @Test func chromiumMakesNoPasskeyWithoutAVerifiedUser() async throws {
    try await withSite(host: "localhost") { site in
      let person = try site.signUp()
      let text = Data(creationOptions(of: site, for: person).utf8)
      var options = try #require(JSONSerialization.jsonObject(with: text) as? [String: Any])
      options["timeout"] = 1000
      let short = try JSONSerialization.data(withJSONObject: options)
      for kind in ["u2f", "ctap2"] {
        let browser = try open(site, with: (kind, "usb"), verifiesUser: false)
        #expect(
          try answer(of: "create", to: String(decoding: short, as: UTF8.self), in: browser)
            == "NotAllowedError", "\(kind)")
      }
    }
  }

  private func open(
    _ site: Site, with kind: (protocol: String, transport: String), verifiesUser: Bool
  ) throws -> Browser {
    let browser = try Browser(size: (900, 1000))
    try browser.call("WebAuthn.enable")
    try browser.call(
      "WebAuthn.addVirtualAuthenticator",
      [
        "options": [
          "protocol": kind.protocol, "transport": kind.transport, "isUserVerified": verifiesUser,
          "hasUserVerification": verifiesUser, "hasResidentKey": verifiesUser,
        ]
      ])
    try browser.open("\(site.url)/")
    return browser
  }

  private func creationOptions(of site: Site, for person: Person) -> String {
    site.post("/api/mobile/auth/passkey/register/options", "{}", person.bearer).body
  }

  private func requestOptions(
    of site: Site, for person: Person, on phone: String
  ) throws -> String {
    let login = site.post(
      "/api/mobile/auth/login",
      """
      {"email":"\(person.email)","deviceId":"phone-\(phone)","deviceName":"Phone","platform":"ios"}
      """)
    let members = try JSONSerialization.jsonObject(with: Data(login.body.utf8)) as? [String: Any]
    let options = try #require(members?["passkeyOptions"], "\(login.body)")
    return String(decoding: try JSONSerialization.data(withJSONObject: options), as: UTF8.self)
  }

  /// The credential that a page gets, in JSON, or the name of the error.
  private func answer(of method: String, to options: String, in browser: Browser) throws -> String {
    let kind = method == "create" ? "Creation" : "Request"
    return try browser.text(
      of: """
        navigator.credentials.\(method)({publicKey: PublicKeyCredential.parse\(kind)OptionsFromJSON(\(options))})
          .then(credential => JSON.stringify(credential), error => error.name)
        """)
  }
}

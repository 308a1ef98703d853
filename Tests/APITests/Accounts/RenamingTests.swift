import Support
import Testing

@testable import API

/// New names for devices and passkeys, and the end of a biometric key.
@Suite struct RenamingTests {
  @Test func aRenamedDeviceIsListedByItsNewName() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let path = "\(AccountPath.devices)/device-1"
      let answer = site.send("PUT", path, #"{"name":" Ann's phone "}"#, token: ann.accessToken)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      let list = site.send("GET", AccountPath.devices, token: ann.accessToken)
      #expect(list["devices", 0, "deviceName"] as? String == "Ann's phone")
      #expect(site.count("audit_log WHERE event = 'device_renamed'") == 1)
    }
  }

  @Test(arguments: ["{}", #"{"name":""}"#, #"{"name":7}"#, "no JSON", ""])
  func aBodyWithoutANameIsRefused(body: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let id = try site.addPasskey(Authenticator(), name: "Key", of: ann)
      for path in ["\(AccountPath.devices)/device-1", "\(AccountPath.passkeys)/\(id)"] {
        let answer = site.send("PUT", path, body, token: ann.accessToken)
        #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      }
      #expect(site.sql("SELECT name FROM devices") == "Phone")
      #expect(site.sql("SELECT name FROM passkeys") == "Key")
    }
  }

  @Test func onlyTheAccountsOwnAreRenamed() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      let id = try site.addPasskey(Authenticator(), of: bob)
      let body = #"{"name":"Mine"}"#
      let noPasskey = "This passkey is no longer there. Reload the list."
      for (path, message) in [
        ("\(AccountPath.devices)/device-2", noDevice), ("\(AccountPath.passkeys)/\(id)", noPasskey),
        ("\(AccountPath.passkeys)/x", noPasskey),
      ] {
        let answer = site.send("PUT", path, body, token: ann.accessToken)
        #expect(answer.isError(404, "not_found", message))
        #expect(site.send("PUT", path, body).isError(401, "unauthorized"))
      }
      #expect(
        site.count("devices WHERE name = 'Mine'") + site.count("passkeys WHERE name = 'Mine'") == 0)
    }
  }

  @Test func aRenamedPasskeyIsListedByItsNewName() throws {
    try withPasskey { site, ann, authenticator in
      let id = site.sql("SELECT id FROM passkeys")
      let path = "\(AccountPath.passkeys)/\(id)"
      let answer = site.send("PUT", path, #"{"name":"Blue key"}"#, token: ann.accessToken)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      let list = site.send("GET", AccountPath.passkeys, token: ann.accessToken)
      #expect(list["passkeys", 0, "name"] as? String == "Blue key")
      let again = try site.signIn(with: authenticator)
      #expect(again.status == 200)
      #expect(site.passkeyEvents.contains("passkey_renamed \(id)"))
    }
  }

  // Biometric keys -----------------------------------------------------------------------------------

  private func turnOff(
    _ site: TestApplication, _ body: String = "", query: String = "", by person: SignedIn
  ) -> Answer {
    site.send("DELETE", AccountPath.biometric, body, token: person.accessToken, query: query)
  }

  @Test func theKeyOfTheCallersDeviceIsTurnedOff() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.setUp(of: ann)
      let answer = turnOff(site, by: ann)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      #expect(site.count("biometric_keys") == 0)
      #expect(site.count("audit_log WHERE event = 'biometric_disabled'") == 1)
      #expect(turnOff(site, by: ann).status == 200)
      #expect(site.count("audit_log WHERE event = 'biometric_disabled'") == 1)
      #expect(site.summary(ann.accessToken).status == 200)
    }
  }

  @Test(arguments: [("", "deviceId=tablet"), (#"{"deviceId":"tablet"}"#, "")])
  func theKeyOfAnotherOwnDeviceIsTurnedOff(body: String, query: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let tablet = try site.signIn(device: "tablet")
      _ = try site.setUp(.one, of: ann)
      _ = try site.setUp(.two, of: tablet)
      #expect(turnOff(site, body, query: query, by: ann).status == 200)
      #expect(
        site.sql(
          """
          SELECT client_device_id FROM biometric_keys k JOIN devices d ON d.id = k.device_id
          """) == "device-1")
    }
  }

  @Test func theKeyOfAnotherAccountStays() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      _ = try site.setUp(of: bob)
      let answer = turnOff(site, query: "deviceId=device-2", by: ann)
      #expect(answer.isError(404, "not_found", noDevice))
      #expect(turnOff(site, #"{"deviceId":7}"#, by: ann).isError(400, "bad_request"))
      #expect(site.send("DELETE", AccountPath.biometric).isError(401, "unauthorized"))
      #expect(site.count("biometric_keys") == 1)
    }
  }
}

extension AccountPath {
  static let biometric = "/api/mobile/auth/biometric"
}

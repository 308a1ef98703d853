import Cryptography
import Testing

@testable import API

/// `POST /api/mobile/device/register` by a signed-in device, and credentials on refresh.
@Suite struct DeviceRenewalTests {
  private let refusal = wrongCredential

  private func register(
    _ site: TestApplication, device: String = "device-1", token: String? = nil,
    credential: String? = nil, pushToken: String? = nil
  ) -> Answer {
    site.send(
      "POST", AccountPath.registerDevice,
      jsonText([
        "deviceId": device, "deviceName": "Renamed", "platform": "android", "pushToken": pushToken,
      ]), token: token,
      fields: credential.map { [(name: "X-Device-Credential", value: $0)] } ?? [])
  }

  /// A site where Ann has signed up with a credential.
  private func withCredential(
    _ body: (_ site: TestApplication, _ ann: SignedIn, _ credential: String) throws -> Void
  ) throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      try body(site, try site.signUp(credential: credential), credential)
    }
  }

  @Test(arguments: [true, false], [true, false])
  func theBearerOrTheCredentialRenewsTheDevice(showsToken: Bool, showsCredential: Bool) throws {
    try withCredential { site, ann, old throws in
      let answer = register(
        site, token: showsToken ? ann.accessToken : nil, credential: showsCredential ? old : nil,
        pushToken: pushTokenText("b"))
      #expect(answer.status == 200, "\(answer.text)")
      let new = try #require(answer.string("deviceCredential"))
      let isRenewed = showsToken || showsCredential
      // The credential of a registration counts as none.
      #expect(site.summary(ann.accessToken, credential: new).status == 200)
      #expect(site.summary(ann.accessToken, credential: old).status == (isRenewed ? 401 : 200))
      #expect(
        site.sql("SELECT name, platform FROM devices")
          == (isRenewed ? "Renamed\tandroid" : "Phone\tios"))
      #expect(site.sql("SELECT token FROM push_tokens") == (isRenewed ? pushTokenText("b") : ""))
      #expect(site.count("device_registrations") == (isRenewed ? 0 : 1))
      #expect(
        site.count("audit_log WHERE event = 'device_registered' AND detail = 'renewed'")
          == (isRenewed ? 1 : 0))
    }
  }

  @Test func aRenewalWithoutAPushTokenKeepsTheOldOne() throws {
    try withApplication { site in
      let credential = try site.registerDevice(pushToken: pushTokenText("a"))
      let ann = try site.signUp(credential: credential)
      #expect(register(site, token: ann.accessToken).status == 200)
      #expect(site.sql("SELECT token FROM push_tokens") == pushTokenText("a"))
    }
  }

  /// A stolen bearer token must not open the account, so a credential issued for it alone is no
  /// proof.
  @Test func aCredentialThatABearerAloneBringsProvesNothing() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(700))
      let answer = register(site, token: ann.accessToken)
      var credential = try #require(answer.string("deviceCredential"))
      // Without a bearer it renews nothing: the answer is a new pending registration.
      #expect(register(site, credential: credential).status == 200)
      #expect(site.count("device_registrations") == 1)
      // Renewed again with the bearer, it is still no proof.
      credential = try #require(
        register(site, token: ann.accessToken, credential: credential).string("deviceCredential"))
      let ask = { (token: String) in
        site.send(
          "POST", AccountPath.passkeyOptions, token: token,
          fields: [("X-Device-Credential", credential)])
      }
      #expect(site.summary(ann.accessToken, credential: credential).status == 200)
      #expect(ask(ann.accessToken).isError(403, "fresh_proof_required"))
      site.advance(by: .seconds(86_400 * 2))
      let later = try #require(site.refresh(ann.refreshToken).accessToken)
      #expect(ask(later).isError(403, "fresh_proof_required"))
    }
  }

  /// A key that was set up with only a bearer signs in, but the credential of that sign-in is no
  /// proof.
  @Test func aCredentialOfASignInWithAnUntrustedKeyProvesNothing() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(700))
      _ = try site.setUp(of: ann)
      let credential = try site.registerDevice()
      let answer = try site.signIn(with: .one, credential: credential)
      #expect(answer.status == 200, "\(answer.text)")
      let asked = site.send(
        "POST", AccountPath.passkeyOptions, token: answer.accessToken,
        fields: [("X-Device-Credential", credential)])
      #expect(asked.isError(403, "fresh_proof_required"), "\(asked.text)")
    }
  }

  @Test func aTrustedCredentialRenewsItselfAndStaysTrusted() throws {
    try withCredential { site, ann, old throws in
      site.advance(by: .seconds(700))
      let new = try #require(register(site, credential: old).string("deviceCredential"))
      let answer = site.send(
        "POST", AccountPath.passkeyOptions, token: ann.accessToken,
        fields: [("X-Device-Credential", new)])
      #expect(answer.status == 200, "\(answer.text)")
    }
  }

  @Test func whatIsNotTheDevicesRenewsNothing() throws {
    try withCredential { site, ann, own throws in
      let foreign = try site.registerDevice("device-9")
      let before = site.rows("devices", "device_registrations", "rate_limits", "push_tokens")
      for credential in ["garbage", "", foreign] {
        let answer = register(site, token: ann.accessToken, credential: credential)
        #expect(answer.isError(401, "unauthorized", refusal), "\(answer.text)")
      }
      site.sql("DELETE FROM rate_limits WHERE name LIKE 'audit%'")
      #expect(site.rows("devices", "device_registrations", "rate_limits", "push_tokens") == before)
    }
  }

  /// The app sends its last token with every request, so a dead token counts as no token.
  @Test func aDeadBearerRegistersAsNone() throws {
    try withCredential { site, ann, _ throws in
      #expect(site.send("POST", AccountPath.logout, token: ann.accessToken).status == 200)
      for token in [ann.accessToken, "garbage"] {
        #expect(register(site, token: token).status == 200)
      }
      #expect(register(site, device: "device-2", token: ann.accessToken).status == 200)
      #expect(site.count("device_registrations") == 3)
      #expect(site.sql("SELECT name FROM devices") == "Phone")
    }
  }

  @Test func aDeviceIsRenewedSixtyTimesAnHour() throws {
    try withCredential { site, ann, _ in
      let answers = (1...61).map { _ in register(site, token: ann.accessToken).status }
      #expect(answers == Array(repeating: 200, count: 60) + [429])
    }
  }

  @Test func refreshRefusesACredentialThatIsNotTheDevices() throws {
    try withCredential { site, ann, own throws in
      let foreign = try site.registerDevice("device-9")
      let before = site.rows("sessions")
      let refresh = { (credential: String) in
        site.send(
          "POST", AccountPath.refresh, jsonText(["refreshToken": ann.refreshToken]),
          fields: [("X-Device-Credential", credential)])
      }
      for credential in ["garbage", "", foreign] {
        let answer = refresh(credential)
        #expect(answer.isError(401, "unauthorized", refusal), "\(answer.text)")
      }
      #expect(site.rows("sessions") == before)
      #expect(site.count("audit_log WHERE event = 'credential_refused'") == 3)
      #expect(refresh(own).status == 200)
      // An app that retries without end reaches the limit.
      let statuses = (1...28).map { _ in refresh("garbage").status }
      #expect(statuses.suffix(2) == [401, 429])
    }
  }
}

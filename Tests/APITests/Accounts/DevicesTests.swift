import Foundation
import Testing

@testable import API

/// `GET /api/mobile/devices`, `DELETE /api/mobile/devices/:deviceId`
@Suite struct DevicesTests {
  private func list(_ site: TestApplication, _ person: SignedIn) -> [[String: Any]] {
    let answer = site.send("GET", AccountPath.devices, token: person.accessToken)
    #expect(answer.status == 200)
    return answer["devices"] as? [[String: Any]] ?? []
  }

  private func revoke(_ site: TestApplication, _ id: String, _ token: String) -> Answer {
    site.send("DELETE", "\(AccountPath.devices)/\(id)", token: token)
  }

  private func setPushToken(_ site: TestApplication, _ person: SignedIn, _ letter: Character) {
    let answer = site.send(
      "POST", AccountPath.pushToken, jsonText(["pushToken": pushTokenText(letter)]),
      token: person.accessToken)
    #expect(answer.status == 200)
  }

  @Test func theListShowsADevice() throws {
    try withApplication { site in
      let begin = site.now
      let ann = try site.signUp(platform: "android")
      site.advance(by: .seconds(90))
      #expect(
        site.send("GET", AccountPath.devices, token: ann.accessToken).text
          == #"{"devices":[{"deviceId":"device-1","deviceName":"Phone","platform":"android","#
          + #""createdAt":"\#(iso8601(begin))","lastUsedAt":"\#(iso8601(site.now))","#
          + #""biometricEnabled":false,"pushEnabled":false,"current":true}]}"#)
    }
  }

  @Test func theLastUsedDeviceComesFirstAndTheCallersIsMarked() throws {
    try withApplication { site in
      var people = [try site.signUp()]
      for number in 2...3 {
        site.advance(by: .seconds(60))
        people.append(try site.signIn(device: "device-\(number)"))
      }
      _ = try site.signUp(email: "bob@example.org")
      site.advance(by: .seconds(60))
      #expect(site.summary(people[1].accessToken).status == 200)
      site.advance(by: .seconds(60))
      let devices = list(site, people[0])
      #expect(devices.map { $0["deviceId"] as? String } == ["device-1", "device-2", "device-3"])
      #expect(devices.map { $0["current"] as? Bool } == [true, false, false])
      site.advance(by: .seconds(60))
      #expect(
        list(site, people[2]).map { $0["deviceId"] as? String }
          == ["device-3", "device-1", "device-2"])
    }
  }

  /// Push is enabled if the device has a push token, and its preferences allow push or were never
  /// written.
  @Test(
    arguments: [
      (false, nil, false), (true, nil, true), (true, true, true), (true, false, false),
      (false, true, false),
    ] as [(Bool, Bool?, Bool)])
  func pushIsEnabledWithATokenAndWithoutARefusalInThePreferences(
    hasToken: Bool, preference: Bool?, expected: Bool
  ) throws {
    try withApplication { site in
      let ann = try site.signUp()
      if hasToken { setPushToken(site, ann, "a") }
      if let preference {
        let answer = site.send(
          "POST", "/api/v1/device-prefs", #"{"push_enabled":\#(preference)}"#,
          token: ann.accessToken)
        #expect(answer.status == 200, "\(answer.text)")
      }
      #expect(list(site, ann).map { $0["pushEnabled"] as? Bool } == [expected])
    }
  }

  @Test func revokingADeviceEndsItsSessionsAndRemovesItsPushToken() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let lost = try site.signIn(device: "device-2")
      setPushToken(site, ann, "a")
      setPushToken(site, lost, "b")
      let answer = revoke(site, "device-2", ann.accessToken)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      #expect(
        site.summary(lost.accessToken).isError(
          401, "unauthorized", "Invalid or expired access token"))
      #expect(site.refresh(lost.refreshToken).status == 401)
      #expect(site.summary(ann.accessToken).status == 200)
      #expect(site.sql("SELECT token FROM push_tokens") == pushTokenText("a"))
      #expect(list(site, ann).map { $0["deviceId"] as? String } == ["device-1"])
      #expect(
        site.sql("SELECT credential_hash FROM devices WHERE client_device_id = 'device-2'")
          == "NULL")
    }
  }

  @Test func aDeviceCanRevokeItself() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(revoke(site, "device-1", ann.accessToken).status == 200)
      #expect(site.summary(ann.accessToken).status == 401)
    }
  }

  @Test func aRevokedDevicesCredentialIsRefusedAtASignIn() throws {
    try withApplication { site in
      let credential = try site.registerDevice("device-2")
      let ann = try site.signUp()
      #expect(site.requestCode(device: "device-2").status == 200)
      let first = site.verify(
        code: try site.mailedCode(), device: "device-2", credential: credential)
      #expect(first.status == 200, "\(first.text)")
      #expect(revoke(site, "device-2", ann.accessToken).status == 200)
      #expect(site.requestCode(device: "device-2").status == 200)
      let answer = site.verify(
        code: try site.mailedCode(), device: "device-2", credential: credential)
      #expect(answer.isError(401, "unauthorized"), "\(answer.text)")
    }
  }

  @Test(arguments: ["device-9", "DEVICE-1", "device-1 ", "bobs-device", "é"])
  func revokingAnUnknownDeviceIs404(id: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "bobs-device")
      #expect(revoke(site, id, ann.accessToken).isError(404, "not_found", noDevice))
      #expect(site.summary(bob.accessToken).status == 200)
      #expect(site.count("devices WHERE revoked_at IS NULL") == 2)
    }
  }

  @Test func revokingADeviceKeepsOtherAccountsOnIt() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org")
      setPushToken(site, bob, "b")
      #expect(revoke(site, "device-1", ann.accessToken).status == 200)
      #expect(site.summary(ann.accessToken).status == 401)
      #expect(site.summary(bob.accessToken).status == 200)
      #expect(site.count("push_tokens") == 1)
    }
  }

  @Test func revokingADeviceTwiceIs404() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.signIn(device: "device-2")
      #expect(revoke(site, "device-2", ann.accessToken).status == 200)
      #expect(revoke(site, "device-2", ann.accessToken).status == 404)
    }
  }

  @Test func signingInAgainRestoresADeviceWithItsPreferences() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let lost = try site.signIn(device: "device-2")
      let written = site.send(
        "POST", "/api/v1/device-prefs",
        #"{"archive_cache_quota_mb":1024,"preferred_models":["gpt-4o"]}"#,
        token: lost.accessToken)
      #expect(written.status == 200)
      let device = site.sql("SELECT id FROM devices WHERE client_device_id = 'device-2'")
      #expect(revoke(site, "device-2", ann.accessToken).status == 200)
      site.advance(by: .seconds(60))
      let found = try site.signIn(device: "device-2", name: "Found")
      #expect(
        site.sql(
          "SELECT id, name, revoked_at FROM devices WHERE client_device_id = 'device-2'")
          == "\(device)\tFound\tNULL")
      #expect(
        site.send("GET", "/api/v1/device-prefs", token: found.accessToken).text == written.text)
      #expect(site.summary(lost.accessToken).status == 401)
      #expect(list(site, found).count == 2)
    }
  }

  @Test func withoutATokenBothRoutesAre401() throws {
    try withApplication { site in
      _ = try site.signUp()
      for answer in [
        site.send("GET", AccountPath.devices),
        site.send("DELETE", AccountPath.devices + "/device-1"),
      ] {
        #expect(
          answer.isError(401, "unauthorized", "Missing or invalid authorization header"))
      }
      #expect(site.count("devices WHERE revoked_at IS NULL") == 1)
    }
  }
}

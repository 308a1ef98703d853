import Foundation
import Testing

@testable import API

/// `POST|DELETE /api/mobile/device/push-token[/:deviceId]`
@Suite struct DevicePushTokenTests {
  private func post(
    _ site: TestApplication, _ person: SignedIn, _ members: [String: Any?]
  ) -> Answer {
    site.send("POST", AccountPath.pushToken, jsonText(members), token: person.accessToken)
  }

  private func delete(_ site: TestApplication, _ person: SignedIn, _ more: String = "") -> Answer {
    site.send("DELETE", AccountPath.pushToken + more, token: person.accessToken)
  }

  /// One line per token: its first letter, platform, e-mail, device.
  private func rows(_ site: TestApplication) -> String {
    site.sql(
      """
      SELECT LEFT(t.token, 1), t.platform, a.email, d.client_device_id FROM push_tokens t
      JOIN devices d ON d.id = t.device_id JOIN accounts a ON a.id = d.account_id ORDER BY t.token
      """)
  }

  @Test func settingATokenReturnsTheTime() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(77))
      let answer = post(
        site, ann,
        [
          "deviceId": "device-1", "pushToken": pushTokenText(), "platform": "ios",
          "tokenType": "apns",
        ])
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true,"registeredAt":"\#(iso8601(site.now))"}"#)
      #expect(rows(site) == "a\tios\tann@example.org\tdevice-1")
      #expect(site.sql("SELECT token FROM push_tokens") == pushTokenText())
    }
  }

  @Test(
    arguments: [
      ("ios", "apns", "ios"), ("macos", "apns", "macos"), ("android", "fcm", "android"),
      ("ios", "fcm", "android"), ("android", nil, "android"), ("ios", nil, "ios"),
      (nil, "fcm", "android"), (nil, "apns", "ios"), (nil, nil, "ios"),
    ] as [(String?, String?, String)])
  func firebaseTokensAreStoredForAndroid(platform: String?, type: String?, stored: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = post(
        site, ann, ["pushToken": pushTokenText(), "platform": platform, "tokenType": type])
      #expect(answer.status == 200, "\(answer.text)")
      #expect(rows(site) == "a\t\(stored)\tann@example.org\tdevice-1")
    }
  }

  @Test func aNewTokenReplacesTheDevicesOldOne() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      #expect(post(site, elsewhere, ["pushToken": pushTokenText("e")]).status == 200)
      for letter in "abb" {
        #expect(post(site, ann, ["pushToken": pushTokenText(letter)]).status == 200)
      }
      #expect(rows(site) == "b\tios\tann@example.org\tdevice-1\ne\tios\tann@example.org\tdevice-2")
    }
  }

  @Test func aTokenBelongsToTheDeviceThatSetItLast() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      #expect(post(site, ann, ["pushToken": pushTokenText()]).status == 200)
      #expect(post(site, bob, ["pushToken": pushTokenText(), "tokenType": "fcm"]).status == 200)
      #expect(rows(site) == "a\tandroid\tbob@example.org\tdevice-2")
      #expect(delete(site, ann).status == 200)
      #expect(rows(site) == "a\tandroid\tbob@example.org\tdevice-2")
    }
  }

  @Test func tokensThatDifferInCaseAreDifferentTokens() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      #expect(post(site, ann, ["pushToken": pushTokenText("a")]).status == 200)
      #expect(post(site, elsewhere, ["pushToken": pushTokenText("A")]).status == 200)
      #expect(site.count("push_tokens") == 2)
    }
  }

  @Test func theIDOfAnotherDeviceIs403() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = try site.signIn(device: "device-2")
      let answer = post(site, ann, ["deviceId": "device-2", "pushToken": pushTokenText()])
      #expect(answer.isError(403, "forbidden"), "\(answer.text)")
      #expect(rows(site) == "")
    }
  }

  @Test(
    arguments: [
      ("pushToken", nil), ("pushToken", ""), ("pushToken", String(repeating: "a", count: 19)),
      ("pushToken", String(repeating: "a", count: 513)), ("pushToken", pushTokenText() + "/"),
      ("pushToken", " " + pushTokenText()), ("pushToken", 5), ("pushToken", NSNull()),
      ("platform", "symbian"), ("platform", 5), ("tokenType", 5), ("deviceId", 5), ("deviceId", ""),
    ] as [(String, (any Sendable)?)])
  func theErrorNamesAnInvalidMember(member: String, value: (any Sendable)?) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let body: [String: any Sendable] = [
        "deviceId": "device-1", "pushToken": pushTokenText(), "platform": "ios",
        "tokenType": "apns",
      ]
      let answer = site.send(
        "POST", AccountPath.pushToken, jsonText(body, but: member, is: value),
        token: ann.accessToken)
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(member):") == true, "\(answer.text)")
      #expect(rows(site) == "")
    }
  }

  @Test func theErrorNamesAnUnknownTokenType() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = post(site, ann, ["pushToken": pushTokenText(), "tokenType": "web"])
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("tokenType:") == true, "\(answer.text)")
    }
  }

  @Test(arguments: ["", "/device-1"])
  func deletingRemovesOnlyTheDevicesToken(more: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      let bob = try site.signUp(email: "bob@example.org")
      for (person, letter) in zip([ann, elsewhere, bob], "aeb") {
        #expect(post(site, person, ["pushToken": pushTokenText(letter)]).status == 200)
      }
      let answer = delete(site, ann, more)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      #expect(rows(site) == "b\tios\tbob@example.org\tdevice-1\ne\tios\tann@example.org\tdevice-2")
      #expect(site.summary(ann.accessToken).status == 200)
    }
  }

  @Test func deletingRemovesTheTokenOfAnotherDeviceOfTheAccount() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      #expect(post(site, ann, ["pushToken": pushTokenText("a")]).status == 200)
      #expect(post(site, elsewhere, ["pushToken": pushTokenText("e")]).status == 200)
      #expect(delete(site, ann, "/device-2").status == 200)
      #expect(rows(site) == "a\tios\tann@example.org\tdevice-1")
    }
  }

  @Test func deletingWithoutATokenIs200() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for more in ["", "/device-1"] { #expect(delete(site, ann, more).status == 200) }
    }
  }

  @Test(arguments: ["device-9", "bobs-device", "DEVICE-1"])
  func deletingForADeviceOfAnotherAccountIs404(id: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "bobs-device")
      #expect(post(site, bob, ["pushToken": pushTokenText("b")]).status == 200)
      #expect(delete(site, ann, "/\(id)").isError(404, "not_found", noDevice))
      #expect(rows(site) == "b\tios\tbob@example.org\tbobs-device")
    }
  }

  @Test func withoutAnAccessTokenTheRoutesAre401() throws {
    try withApplication { site in
      _ = try site.signUp()
      let body = jsonText(["pushToken": pushTokenText()])
      for answer in [
        site.send("POST", AccountPath.pushToken, body), site.send("DELETE", AccountPath.pushToken),
        site.send("DELETE", AccountPath.pushToken + "/device-1"),
      ] {
        #expect(
          answer.isError(401, "unauthorized", "Missing or invalid authorization header"))
      }
      #expect(rows(site) == "")
    }
  }
}

import Base
import Cryptography
import Foundation
import Store
import Testing

@testable import API

/// `POST /api/mobile/device/register`
@Suite struct DeviceRegistrationTests {
  static let body: [String: any Sendable] = [
    "deviceId": "8C0C7C3E-6C8B-4E5E-9F59-6C4B41E7E0F1", "platform": "ios",
    "deviceName": "iPhone 15 Pro", "pushToken": pushTokenText(),
  ]

  private func register(_ site: TestApplication, address: String = "192.0.2.1") -> Answer {
    site.send("POST", AccountPath.registerDevice, jsonText(Self.body), address: address)
  }

  @Test func eachRegistrationGetsANewCredentialForNinetyDays() throws {
    try withApplication { site in
      var credentials: Set<String> = []
      for _ in 1...3 {
        let answer = register(site)
        let credential = try #require(answer.string("deviceCredential"))
        #expect(answer.status == 200)
        #expect(
          answer.text
            == #"{"deviceCredential":"\#(credential)","expiresAt":"\#(iso8601(site.now + .seconds(90 * 86_400)))"}"#
        )
        #expect(answer.field("Cache-Control") == "no-store")
        credentials.insert(credential)
      }
      #expect(credentials.count == 3)
    }
  }

  @Test func theCredentialIsSealedAndBoundToTheDevice() throws {
    try withApplication { site in
      let credential = try #require(register(site).string("deviceCredential"))
      #expect(credential.hasPrefix("sbdc_"))
      let sealed = String(credential.dropFirst(5))
      let id = try #require(Self.body["deviceId"] as? String)
      #expect(
        try Cryptography.open(sealed, authenticating: id, with: TestApplication.keys).count
          >= 16)
      #expect(throws: CryptographyError.unauthentic) {
        try Cryptography.open(sealed, authenticating: "device-1", with: TestApplication.keys)
      }
    }
  }

  @Test func theDatabaseHoldsOnlyTheHashOfACredential() throws {
    try withApplication { site in
      let credential = try #require(register(site).string("deviceCredential"))
      #expect(
        site.sql("SELECT LOWER(HEX(credential_hash)) FROM device_registrations")
          == hexEncoded(sha256(credential)))
      #expect(!site.rows("device_registrations", "audit_log").contains(credential))
    }
  }

  @Test func theRegistrationIsStoredAsSent() throws {
    try withApplication { site in
      _ = register(site)
      #expect(
        site.sql(
          """
          SELECT client_device_id, address, name, platform, push_token, registered_at,
            DATEDIFF(credential_expires_at, registered_at) FROM device_registrations
          """)
          == [
            "8C0C7C3E-6C8B-4E5E-9F59-6C4B41E7E0F1", "192.0.2.1", "iPhone 15 Pro", "ios",
            pushTokenText(), sqlTime(site.now), "90",
          ].joined(separator: "\t"))
    }
  }

  private func sqlTime(_ instant: Timestamp) -> String {
    iso8601(instant).replacing("T", with: " ").replacing("Z", with: ".000")
  }

  /// The second one may be another person's, in the same network.
  @Test func registeringAgainReplacesNothing() throws {
    try withApplication { site in
      try site.registerDevice(pushToken: pushTokenText("a"))
      let own = site.sql("SELECT * FROM device_registrations")
      let credential = try site.registerDevice(name: "New", platform: "android")
      #expect(site.rows("device_registrations").contains(own))
      #expect(
        site.sql(
          """
          SELECT name, platform, push_token, LOWER(HEX(credential_hash)) FROM device_registrations
          WHERE name = 'New'
          """
        ) == "New\tandroid\tNULL\t\(hexEncoded(sha256(credential)))")
    }
  }

  @Test func registeringFromAnotherAddressReplacesNothing() throws {
    try withApplication { site in
      try site.registerDevice(pushToken: pushTokenText("a"))
      let own = site.sql("SELECT * FROM device_registrations")
      try site.registerDevice(
        name: "Evil", platform: "android", pushToken: pushTokenText("b"), address: "203.0.113.9")
      #expect(
        site.sql("SELECT * FROM device_registrations WHERE address = '192.0.2.1'") == own)
      #expect(site.count("device_registrations") == 2)
    }
  }

  @Test(arguments: ["192.0.2.1", "203.0.113.9"])
  func registeringDoesNotChangeADeviceThatIsSignedIn(address: String) throws {
    try withApplication { site in
      try site.registerDevice(pushToken: pushTokenText("a"))
      let ann = try site.signUp()
      let tables = { site.rows("accounts", "devices", "sessions", "push_tokens") }
      let before = tables()
      let credential = try site.registerDevice(
        name: "Other", platform: "android", pushToken: pushTokenText("b"), address: address)
      #expect(tables() == before)
      #expect(site.isNoProof(credential, of: ann.accessToken))
      #expect(site.summary(ann.accessToken).status == 200)
    }
  }

  @Test(
    arguments: [
      ("deviceId", nil), ("deviceId", ""), ("deviceId", "   "), ("deviceId", 17),
      ("deviceId", NSNull()), ("deviceId", String(repeating: "x", count: 129)),
      ("deviceId", "a\u{0}b"), ("deviceId", "a\u{1B}b"), ("deviceId", ["x"]),
      ("deviceName", nil), ("deviceName", true),
      ("deviceName", String(repeating: "x", count: 201)),
      ("platform", nil), ("platform", ""), ("platform", "symbian"), ("platform", 1),
    ] as [(String, (any Sendable)?)])
  func theErrorNamesAnInvalidMember(member: String, value: (any Sendable)?) throws {
    try withApplication { site in
      let answer = site.send(
        "POST", AccountPath.registerDevice, jsonText(Self.body, but: member, is: value))
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(member):") == true, "\(answer.text)")
      #expect(site.count("device_registrations") == 0)
    }
  }

  /// Simulators have no push token, and some apps send a token of another service.
  @Test(
    arguments: [
      "", " ", "apns-or-fcm-token", "ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]",
      String(repeating: "a", count: 19), String(repeating: "a", count: 513),
      pushTokenText() + " x", pushTokenText() + "'", pushTokenText() + "é", "a\u{0}b",
      12, true, ["x"], ["token": "x"], NSNull(),
    ] as [any Sendable])
  func whatIsNoPushTokenCountsAsAbsent(value: any Sendable) throws {
    try withApplication { site in
      let answer = site.send(
        "POST", AccountPath.registerDevice, jsonText(Self.body, but: "pushToken", is: value))
      #expect(answer.status == 200, "\(answer.text)")
      #expect(
        site.sql("SELECT name, push_token FROM device_registrations") == "iPhone 15 Pro\tNULL")
    }
  }

  @Test(arguments: ["", "null", "[]", "17", "\"text\"", "{", "{\"deviceId\":}", "{}}"])
  func aBodyThatIsNotAnObjectIs400(body: String) throws {
    try withApplication { site in
      let answer = site.send("POST", AccountPath.registerDevice, body)
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
    }
  }

  @Test(
    arguments: [
      ("deviceId", String(repeating: "x", count: 128)),
      ("deviceName", String(repeating: "é", count: 200)),
      ("platform", "android"), ("platform", "macos"),
      ("pushToken", String(repeating: "a", count: 20)),
      ("pushToken", String(repeating: "Az09:_-.", count: 64)), ("pushToken", NSNull()),
      ("pushToken", nil), ("somethingElse", ["is": "ignored"]),
    ] as [(String, (any Sendable)?)])
  func valuesAtTheLimitsAreAccepted(member: String, value: (any Sendable)?) throws {
    try withApplication { site in
      let answer = site.send(
        "POST", AccountPath.registerDevice, jsonText(Self.body, but: member, is: value))
      #expect(answer.status == 200, "\(answer.text)")
      #expect(site.count("device_registrations") == 1)
    }
  }

  @Test func anAddressRegistersSixtyDevicesAnHour() throws {
    try withApplication { site in
      for _ in 1...60 { #expect(register(site).status == 200) }
      site.advance(by: .seconds(600))
      let refused = register(site)
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 3000)
      #expect(register(site, address: "198.51.100.7").status == 200)
      site.advance(by: .seconds(2999))
      #expect(register(site).retryAfter == 1)
      site.advance(by: .seconds(1))
      #expect(register(site).status == 200)
    }
  }

  @Test func aRefusedRegistrationWritesNothing() throws {
    try withApplication { site in
      for _ in 1...60 { _ = register(site) }
      let before = site.rows("device_registrations", "audit_log", "rate_limits")
      _ = register(site)
      #expect(site.rows("device_registrations", "audit_log", "rate_limits") == before)
    }
  }
}

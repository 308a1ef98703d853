import Delivery
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Testing

@testable import switchboard_companion

@Suite struct APNsSettingsTests {
  static let whole = [
    "APNS_KEY_ID": "KEY1234567", "APNS_TEAM_ID": "TEAM123456",
    "APNS_BUNDLE_ID": "com.example.switchboard", "APNS_PRIVATE_KEY": testPrivateKey,
  ]

  func parse(_ changes: [String: String]) -> (APNsSettings?, missing: [String], [String]) {
    var environment = Environment(Self.whole.merging(changes) { $1 })
    let substitutes = Substitutes(from: &environment)
    let parsed = APNsSettings.parse(from: &environment, substitutes: substitutes)
    return switch parsed {
    case .configured(let settings): (settings, [], environment.complaints)
    case .notConfigured(let missing): (nil, missing, environment.complaints)
    }
  }

  @Test func theFourRequiredAreEnough() throws {
    let (parsed, _, complaints) = parse([:])
    let settings = try #require(parsed)
    #expect(complaints.isEmpty)
    #expect(settings.keyID == "KEY1234567")
    #expect(settings.teamID == "TEAM123456")
    #expect(settings.topic == "com.example.switchboard")
    #expect(settings.endpoint == .production)
    #expect(settings.testConcurrency == 4)
    #expect(settings.retries == APNsRetries(delay: .seconds(900)))
  }

  @Test func whatIsMissingIsNamedAndNoComplaint() {
    var environment = Environment([:])
    let substitutes = Substitutes(from: &environment)
    let parsed = APNsSettings.parse(from: &environment, substitutes: substitutes)
    guard case .notConfigured(let all) = parsed else {
      Issue.record("configured by nothing")
      return
    }
    #expect(all == ["APNS_KEY_ID", "APNS_TEAM_ID", "APNS_BUNDLE_ID", "APNS_PRIVATE_KEY"])
    #expect(environment.complaints.isEmpty)
    for name in all {
      let (settings, missing, complaints) = parse([name: ""])
      #expect(settings == nil)
      #expect(missing == [name])
      #expect(complaints.isEmpty)
    }
  }

  @Test(arguments: [
    ("APNS_KEY_ID", "a b"), ("APNS_TEAM_ID", "ä"), ("APNS_BUNDLE_ID", "x\ny"),
    ("APNS_PRIVATE_KEY", "secret"), ("APNS_USE_SANDBOX", "yes"),
    ("APNS_ENDPOINT_OVERRIDE", "http://localhost"), ("APNS_CA_CERT", "/nowhere"),
    ("APNS_CA_CERT", "-----BEGIN CERTIFICATE-----"), ("APNS_SEND_CONCURRENCY", "0"),
    ("APNS_SEND_CONCURRENCY", "21"), ("APNS_RETRY_SECONDS", "-1"),
  ])
  func whatIsMalformedIsAComplaintWithoutItsValue(_ name: String, _ value: String) {
    let (_, _, complaints) = parse([name: value])
    #expect(complaints.count == 1)
    #expect(complaints.first?.hasPrefix("\(name) must be ") == true)
    #expect(complaints.first?.contains("secret") == false)
  }

  @Test func aKeyOnOneLineIsUnderstood() {
    let line = testPrivateKey.replacingOccurrences(of: "\n", with: #"\n"#)
    let (settings, _, complaints) = parse(["APNS_PRIVATE_KEY": line])
    #expect(settings != nil)
    #expect(complaints.isEmpty)
  }

  @Test(arguments: [
    ("true", APNsEndpoint.sandbox), ("1", .sandbox), ("TRUE", .sandbox), ("false", .production),
    ("0", .production),
  ])
  func theSandboxIsChosenByItsWord(_ word: String, _ endpoint: APNsEndpoint) {
    #expect(parse(["APNS_USE_SANDBOX": word]).0?.endpoint == endpoint)
  }

  /// Production, the sandbox, and their replacements.
  @Test func theOtherHostIsApplesUnlessTheFirstOneIsNot() {
    let (fake, second) = (APNsEndpoint(host: "fake"), APNsEndpoint(host: "second"))
    let override = ["APNS_ENDPOINT_OVERRIDE": "https://fake"]
    let both = override.merging(["SWITCHBOARD_SUBSTITUTES": "apns-other=https://second"]) { $1 }
    for (variables, first, other): ([String: String], APNsEndpoint, APNsEndpoint?) in [
      ([:], .production, .sandbox), (["APNS_USE_SANDBOX": "1"], .sandbox, .production),
      (override, fake, nil), (both, fake, second),
    ] {
      let settings = parse(variables).0
      #expect(settings?.endpoint == first)
      #expect(settings?.otherEndpoint == other)
    }
    #expect(parse(["APNS_USE_SANDBOX": "1"]).0?.environment == .sandbox)
  }

  @Test(arguments: [
    ("https://localhost:2197", APNsEndpoint(host: "localhost", port: 2197)),
    ("https://localhost/3/device?x=1#y", APNsEndpoint(host: "localhost")),
    ("HTTPS://localhost", APNsEndpoint(host: "localhost")),
    ("https://[::1]:8443/", APNsEndpoint(host: "::1", port: 8443)),
    ("https://[::1]", APNsEndpoint(host: "::1")), ("https://localhost:0", nil),
    ("https://localhost:65536", nil), ("https://localhost:", nil), ("https://", nil),
    ("https://:443", nil), ("https://a@b", nil), ("https://::1", nil), ("https://a b", nil),
    ("localhost:443", nil), ("", nil),
  ])
  func anEndpointIsTheOriginOfAnHTTPSAddress(_ url: String, _ endpoint: APNsEndpoint?) {
    #expect(APNsEndpoint(url: url) == endpoint)
  }

  @Test func aNotificationHoldsOnlyWhatMayBeSent() throws {
    let id = "0f8fad5b-d9cb-469f-a165-70867728950e"
    let token = try #require(PushToken(String(repeating: "ab", count: 32)))
    func isOne(
      id: String = id, topic: String = "a.b", collapseID: String? = nil, expiration: Int64 = 0,
      size: Int = 1
    ) -> Bool {
      APNsNotification(
        id: id, token: token, topic: topic, collapseID: collapseID, expiration: expiration,
        payload: Array(repeating: 0x20, count: size)) != nil
    }
    #expect(isOne())
    #expect(isOne(size: 4096))
    #expect(!isOne(size: 4097))
    #expect(!isOne(size: 0))
    #expect(isOne(collapseID: String(repeating: "c", count: 64)))
    #expect(!isOne(collapseID: String(repeating: "c", count: 65)))
    #expect(!isOne(collapseID: ""))
    #expect(!isOne(collapseID: "ä"))
    #expect(!isOne(topic: ""))
    #expect(!isOne(topic: "a\r\nb"))
    #expect(!isOne(expiration: -1))
    for wrong in ["", id.uppercased(), id + "0", id.replacingOccurrences(of: "-", with: "0")] {
      #expect(!isOne(id: wrong))
    }
  }
}

import Base
import Cryptography
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery
@testable import switchboard_companion

/// Several apps of one site, each with its own topic and team.
@Suite struct APNsFamilyTests {
  private static let other = "com.example.other"

  /// Inserts 20 deliveries; every second one is for a token of the other app.
  private func insert(_ delivery: TestDelivery, _ count: Int = 20) {
    delivery.insert(count)
    delivery.sql(
      """
      UPDATE deliveries d JOIN notifications n ON n.id = d.notification_id
      SET d.bundle_id = '\(Self.other)' WHERE SUBSTRING(n.event_key, 7) % 2 = 0
      """)
  }

  private func send(
    _ delivery: TestDelivery, _ family: [APNsSettings]
  ) throws -> DeliveryReport {
    let channel = DeliveryChannel.apns(
      family, delivery.companionDatabase, sealingKeys: TestDelivery.keys, limits: testLimits(),
      clock: .still)
    defer { channel.close() }
    return try DeliveryRun(
      delivery.companionDatabase, channel, until: .never, stopping: Flag()
    ).send()
  }

  private func withTwo(
    _ faults: [String] = [], _ body: (FakeAPNs, FakeAPNs) throws -> Void,
    thenLook look: @escaping (FakeAPNs, FakeAPNs) throws -> Void = { _, _ in }
  ) throws {
    try withAPNs(faults: faults) { first throws in
      try withAPNs(faults: [], topic: Self.other, teamID: "TEAM654321") { second throws in
        try body(first, second)
      } thenLook: { second, _ throws in
        try look(first, second)
      }
    }
  }

  @Test func eachTokenGetsItByItsApp() throws {
    try withDelivery { delivery throws in
      insert(delivery, 2_000)
      try withTwo { first, second throws in
        let report = try send(delivery, [first.settings(), second.settings()])
        #expect(report == DeliveryReport(delivered: 2_000))
      } thenLook: { first, second throws in
        let received = try second.received()
        #expect(received.count == 1_000)
        #expect(received.allSatisfy { $0.topic == Self.other && $0.status == 200 })
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM provider_tokens") == "2")
    }
  }

  @Test func anAppThatAppleDoesNotServeKeepsNoOtherWaiting() throws {
    try withDelivery { delivery throws in
      insert(delivery)
      try withTwo(["answer every 1 403 InvalidProviderToken"]) { first, second throws in
        let report = try send(delivery, [first.settings(), second.settings()])
        #expect(report.delivered == 10)
        #expect(report.problem?.hasPrefix("\(FakeAPNs.topic): Apple answers 403") == true)
      }
      #expect(
        delivery.sql("SELECT state, COUNT(*) FROM deliveries GROUP BY 1")
          == "open\t10\ndelivered\t10")
    }
  }

  @Test func wrongTokensAreTheRuleOfOneAppOnly() throws {
    try withDelivery { delivery throws in
      insert(delivery, 100)
      let tokens = delivery.sql(
        "SELECT token FROM deliveries WHERE bundle_id IS NOT NULL ORDER BY token LIMIT 2"
      ).split(separator: "\n")
      try withAPNs(faults: ["answer every 1 400 BadDeviceToken"]) { first throws in
        try withAPNs(
          faults: tokens.map { "answer token \($0) 400 BadDeviceToken" }, topic: Self.other
        ) { second throws in
          let report = try send(delivery, [first.settings(), second.settings()])
          #expect(report.tokensRemoved == 2)
          #expect(report.problem?.contains("50 devices") == true)
        }
      }
      #expect(delivery.sql("SELECT COUNT(*) FROM ogs_registrations") == "98")
    }
  }

  @Test func aTestAsksTheOtherHostBeforeItCallsATokenDead() throws {
    try withDelivery { delivery throws in
      let token = String(repeating: "a", count: 64)
      delivery.registerPushTokens([token])
      let target = PushTarget(
        token: token, platform: .ios, registeredAt: .now(), isEnabled: true)
      try withAPNs { sandbox throws in
        try withAPNs("answer every 1 400 BadDeviceToken") { production throws in
          let channel = DeliveryChannel.apns(
            try production.settings(other: sandbox), delivery.companionDatabase,
            sealingKeys: TestDelivery.keys, clock: .still)
          let sender = DemoPushSender(
            database: delivery.companionDatabase, channels: [channel], missing: [])
          for _ in 1...2 {
            let outcome = try sender.run(
              NotificationContent(body: "x"), to: [target])
            #expect(outcome.results.map(\.ok) == [true])
            #expect(outcome.staleTokensRemoved == 0)
          }
        } thenLook: { production, _ throws in
          #expect(try production.received().count == 1)
        }
      } thenLook: { sandbox, _ throws in
        #expect(try sandbox.received().count == 2)
      }
      #expect(delivery.sql("SELECT environment FROM apns_hosts") == "sandbox")
    }
  }

  /// Test pushes try the apps in the same way as deliveries (`APNsAllAppsRun`).
  @Test func aTestTriesEachAppBeforeItCallsATokenDead() throws {
    try withDelivery { delivery throws in
      let (theirs, nobodys) = (String(repeating: "a", count: 64), String(repeating: "b", count: 64))
      delivery.registerPushTokens([theirs, nobodys])
      let refusals = [theirs, nobodys].map { "answer token \($0) 400 DeviceTokenNotForTopic" }
      try withAPNs(faults: refusals) { first throws in
        try withAPNs(faults: [refusals[1]], topic: Self.other, teamID: "TEAM654321") {
          second throws in
          let channel = DeliveryChannel.apns(
            [try first.settings(), try second.settings()], delivery.companionDatabase,
            sealingKeys: TestDelivery.keys, clock: .still)
          let sender = DemoPushSender(
            database: delivery.companionDatabase, channels: [channel], missing: [])
          func send(to token: String, of bundleID: String? = nil) throws -> DemoPushOutcome {
            let target = PushTarget(
              token: token, platform: .ios, registeredAt: .now(), isEnabled: true,
              bundleID: bundleID)
            return try sender.run(NotificationContent(body: "x"), to: [target])
          }
          for _ in 1...2 {
            let outcome = try send(to: theirs)
            #expect(outcome.results.map(\.ok) == [true])
            #expect(outcome.staleTokensRemoved == 0)
          }
          let outcome = try send(to: nobodys)
          #expect(outcome.results.map(\.reason) == ["DeviceTokenNotForTopic"])
          #expect(outcome.staleTokensRemoved == 1)
          // The phone has named its app, so no other app is tried.
          #expect(try send(to: theirs, of: FakeAPNs.topic).staleTokensRemoved == 1)
        } thenLook: { second, _ throws in
          #expect(try second.received().map(\.token) == [theirs, theirs, nobodys])
        }
      } thenLook: { first, _ throws in
        // The second time, the token's app was known.
        #expect(try first.received().map(\.token) == [theirs, nobodys, theirs])
      }
      #expect(
        delivery.sql("SELECT topic FROM apns_hosts WHERE token = '\(theirs)'") != FakeAPNs.topic)
      #expect(delivery.sql("SELECT COUNT(*) FROM push_tokens") == "0")
    }
  }

  @Test func theFileNamesTheApps() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try testPrivateKey.write(toFile: "\(folder)/key.p8", atomically: true, encoding: .utf8)
    func app(_ name: String, _ bundleID: String, host: String = "production") -> String {
      """
      {"name":"\(name)","bundle_id":"\(bundleID)","team_id":"TEAM","key_id":"KEY",
       "key_file":"\(folder)/key.p8","host":"\(host)"}
      """
    }
    func parse(_ text: String, _ more: [String: String] = [:]) throws -> (
      [APNsSettings], [String]
    ) {
      try text.write(toFile: "\(folder)/apps.json", atomically: true, encoding: .utf8)
      var environment = Environment(
        ["APNS_APPS_FILE": "\(folder)/apps.json"].merging(more) { $1 })
      let substitutes = Substitutes(from: &environment)
      let parsed = APNsSettings.parseFamily(from: &environment, substitutes: substitutes)
      return (parsed.apps, environment.complaints)
    }
    let (apps, complaints) = try parse(
      "[\(app("one", "com.example.one")), \(app("two", "com.example.two", host: "sandbox"))]")
    #expect(complaints == [])
    #expect(apps.map(\.name) == ["one", "two"])
    #expect(apps.map(\.topic) == ["com.example.one", "com.example.two"])
    #expect(apps.map(\.endpoint) == [.production, .sandbox])
    #expect(apps.map(\.otherEndpoint) == [.sandbox, .production])
    let wrong = [
      "{}", "[]", "[\(app("one", "com.example.one")), \(app("one", "com.example.two"))]",
      "[\(app("one", "a b"))]", "[\(app("one", "com.example.one", host: "elsewhere"))]",
      "[\(app("one", "com.example.one").replacing("key.p8", with: "none.p8"))]",
      "[\(app("one", "com.example.one").replacing("key_file", with: "no_key"))]",
      "[\(app("one", "com.example.one").replacing("key_file", with: "key"))]",
      "[\(app("one", "com.example.one").replacing("{", with: #"{"key":"x","#))]",
    ]
    for text in wrong {
      let (apps, complaints) = try parse(text)
      #expect(apps.isEmpty)
      #expect(complaints.count == 1)
      #expect(complaints.first?.hasPrefix("APNS_APPS must ") == true)
    }
    for absent in ["", "\n"] {
      let (apps, complaints) = try parse(absent)
      #expect(apps.isEmpty && complaints.isEmpty)
    }
    let key = testPrivateKey.replacing("\n", with: "\\n")
    let (whole, none) = try parse(
      "[\(app("one", "com.example.one").replacing("\"key_file\":\"\(folder)/key.p8\"", with: "\"key\":\"\(key)\""))]"
    )
    #expect(none == [])
    #expect(whole.map(\.name) == ["one"])
    let both = try parse(
      "[\(app("one", "com.example.one"))]", ["APNS_KEY_ID": "x", "APNS_TEAM_ID": "y"])
    #expect(
      both.1
        == ["APNS_KEY_ID", "APNS_TEAM_ID"].map {
          "\($0) must not be set together with APNS_APPS."
        })
  }
}

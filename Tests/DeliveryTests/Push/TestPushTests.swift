import Foundation
import Support
import Testing

@testable import Delivery

/// `switchboard test-push`.
@Suite(.serialized) struct TestPushTests {
  /// Registers push tokens for Ann's phones, the newest first.
  private func register(_ tokens: [String], _ delivery: TestDelivery) {
    for (number, token) in tokens.enumerated() {
      delivery.sql(
        """
        INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
          SELECT UUID(), id, 'd\(number)', 'D', 'ios', NOW(3), NOW(3) FROM accounts;
        INSERT INTO device_preferences (device_id, last_updated_at)
          SELECT id, NOW(3) FROM devices WHERE client_device_id = 'd\(number)';
        INSERT INTO push_tokens (token, device_id, platform, registered_at)
          SELECT '\(token)', id, 'ios', NOW(3) - INTERVAL \(number + 1) HOUR FROM devices
          WHERE client_device_id = 'd\(number)';
        """)
    }
  }

  private static let tokens = ["a", "b", "c"].map { String(repeating: $0, count: 64) }

  @Test func whatAppleSaysOfEachDeviceIsASentence() throws {
    try withDelivery { delivery throws in
      register(Self.tokens, delivery)
      delivery.sql(
        "UPDATE device_preferences p JOIN devices d ON d.id = p.device_id SET version = 1, push_enabled = 0 "
          + "WHERE client_device_id = 'd2'")
      try withAPNs("answer token \(Self.tokens[1]) 400 BadDeviceToken") { fake throws in
        let tried = try RunningCompanion(
          delivery, "test-push ann@example.org", changing: fake.environment())
        try tried.end(expecting: 1)
        #expect(
          tried.output.split(separator: "\n") == [
            "Device aaaaaaaaaaaaaaaa… will get it: Apple accepted the notification.",
            "Device bbbbbbbbbbbbbbbb… got nothing: Apple answered 400 BadDeviceToken. Apple does not know the token at "
              + "this host: it is malformed, or belongs to the other host (sandbox or production). Check APNS_USE_SANDBOX, "
              + "and let the app register again.",
            "Device cccccccccccccccc… got nothing: its preferences switch pushes off. Name its token to test it.",
          ], "\(tried.output)")
        let named = try RunningCompanion(
          delivery, "test-push \(Self.tokens[2]) --json", changing: fake.environment())
        try named.end(expecting: 0)
        #expect(
          named.output.hasPrefix(#"[{"token":"\#(Self.tokens[2])","accepted":true,"status":200,"#))
      } thenLook: { fake, _ throws in
        let arrived = try fake.received().filter { $0.status == 200 }.map(\.token)
        #expect(arrived == [Self.tokens[0], Self.tokens[2]])
      }
      #expect(
        delivery.sql("SELECT COUNT(*) FROM push_tokens") == "3",
        "no test removes a token that may be right")
    }
  }

  @Test func withoutAPNsAnAndroidDeviceGetsIt() throws {
    try withDelivery { delivery throws in
      register(Array(Self.tokens.prefix(2)), delivery)
      delivery.sql(
        "UPDATE push_tokens SET platform = 'android' WHERE token = '\(Self.tokens[1])'")
      try withFCM { fake throws in
        let environment = [
          "FCM_SERVICE_ACCOUNT": fake.serviceAccount, "SWITCHBOARD_SUBSTITUTES": "fcm=\(fake.url)",
        ]
        let tried = try RunningCompanion(
          delivery, "test-push ann@example.org", changing: environment)
        try tried.end(expecting: 1)
        #expect(
          tried.output.split(separator: "\n") == [
            "Device aaaaaaaaaaaaaaaa… got nothing: set APNS_KEY_ID APNS_TEAM_ID APNS_BUNDLE_ID APNS_PRIVATE_KEY.",
            "Device bbbbbbbbbbbbbbbb… will get it: Google accepted the notification.",
          ], "\(tried.output)")
        #expect(fake.received.map(\.token) == [Self.tokens[1]])
        let named = try RunningCompanion(
          delivery, "test-push \(Self.tokens[1])", changing: environment)
        try named.end(expecting: 0)
      }
      let without = try RunningCompanion(delivery, "test-push \(Self.tokens[1])")
      try without.end(expecting: 1)
      #expect(without.output.contains("got nothing: set FCM_SERVICE_ACCOUNT."))
    }
  }

  @Test func theTokenOfARemovedAppGoes() throws {
    try withDelivery { delivery throws in
      register([Self.tokens[0]], delivery)
      try withAPNs("answer token \(Self.tokens[0]) 410 Unregistered") { fake throws in
        let tried = try RunningCompanion(
          delivery, "test-push ann@example.org", changing: fake.environment())
        try tried.end(expecting: 1)
        #expect(tried.output.contains("No app has this token any more"), "\(tried.output)")
      }
    }
  }

  @Test func aDryRunSendsNothing() throws {
    try withDelivery { delivery throws in
      register([Self.tokens[0]], delivery)
      try withAPNs { fake throws in
        let tried = try RunningCompanion(
          delivery, "test-push ann@example.org --dry-run", changing: fake.environment())
        try tried.end(expecting: 0)
        #expect(
          tried.output.contains("would get the notification by \(fake.endpoint)"), "\(tried.output)"
        )
      } thenLook: { fake, _ throws in
        #expect(try fake.received().isEmpty)
      }
    }
  }

  @Test func withoutAnAppleKeyOrADeviceItSaysWhatIsMissing() throws {
    try withDelivery { delivery throws in
      let nobody = try RunningCompanion(delivery, "test-push ann@example.org")
      try nobody.end(expecting: 1)
      #expect(
        nobody.log.contains("No device of an account with this e-mail address has a push token."))
      register([Self.tokens[0]], delivery)
      let without = try RunningCompanion(delivery, "test-push ann@example.org")
      try without.end(expecting: 1)
      #expect(
        without.output.contains(
          "got nothing: set APNS_KEY_ID APNS_TEAM_ID APNS_BUNDLE_ID APNS_PRIVATE_KEY."))
    }
  }
}

import Base
import Cryptography
import Delivery
import Foundation
import Store
import Synchronization
import Testing

@testable import API

/// `POST /api/push/test`, with the companion's code and a fake Apple.
@Suite struct DemoPushTests {
  @Test func aTestAnswersInTheContractsShape() throws {
    try withAnn { site, ann, _ in
      site.register("a", of: ann)
      let sender = DirectSender(topic: "t", concurrency: 4) { notifications in
        [notifications[0].id: .accepted(apnsID: "1b3f0b7a-6a5a-4a39-9f5c-0d1b2c3d4e5f")]
      }
      let answer = try site.withCompanion(sender) {
        site.push("test", #"{"token":"\#(pushTokenText())"}"#, by: ann)
      }
      #expect(answer.status == 200)
      #expect(answer.crossOriginFields == Answer.allowed)
      #expect(
        answer.text
          == #"{"successCount":1,"failureCount":0,"failureReasons":{},"apnsSendConcurrency":4,"#
          + #""pushMetadataLookupConcurrency":8,"invalidStoredTokensRemoved":0,"#
          + #""skippedNonStringTokenCount":0,"staleTokensRemoved":0,"#
          + #""staleOwnershipTokensRemoved":0,"results":[{"ok":true,"status":200,"#
          + #""token":"\#(pushTokenText())","apnsId":"1b3f0b7a-6a5a-4a39-9f5c-0d1b2c3d4e5f"}]}"#)
    }
  }

  @Test func aTestGoesToTheDevicesOfTheAccountOnly() throws {
    try withAnn { site, ann, elsewhere in
      site.register("ab", of: ann)
      site.register("c", of: elsewhere)
      site.register("d", of: try site.signUp(email: "bob@example.org", device: "device-9"))
      let answer = try site.withCompanion(.accepting) { site.push("test", "{}", by: ann) }
      #expect(answer.sends == ["c true 200 id", "b true 200 id", "a true 200 id"])
      let named = try site.withCompanion(.accepting) {
        site.push("test", #"{"token":" \#(pushTokenText("a")) "}"#, by: elsewhere)
      }
      #expect(named.sends == ["a true 200 id"])
    }
  }

  /// The credential of a phone that was signed out still registers it. It gets pushes after the next sign-in.
  @Test func aDeviceThatIsSignedOutGetsNone() throws {
    try withAnn { site, ann, _ in
      func signIn(showing credential: String) throws -> String {
        #expect(site.requestCode(device: "device-3", credential: credential).status == 200)
        let answer = site.verify(
          code: try site.mailedCode(), device: "device-3", credential: credential)
        return try #require(answer.accessToken, "\(answer.text)")
      }
      let credential = try site.registerDevice("device-3")
      let token = try signIn(showing: credential)
      #expect(site.send("POST", AccountPath.logout, token: token).status == 200)
      let renewed = site.send(
        "POST", AccountPath.registerDevice,
        jsonText([
          "deviceId": "device-3", "deviceName": "Phone", "platform": "ios",
          "pushToken": pushTokenText("a"),
        ]), fields: [(name: "X-Device-Credential", value: credential)])
      #expect(site.count("push_tokens") == 1)
      let before = try site.withCompanion(.accepting) { site.push("test", "{}", by: ann) }
      #expect(before.sends == [])
      _ = try signIn(showing: try #require(renewed.string("deviceCredential")))
      let after = try site.withCompanion(.accepting) { site.push("test", "{}", by: ann) }
      #expect(after.sends == ["a true 200 id"])
    }
  }

  @Test func eachAnswerOfAppleIsReportedAndDeadTokensAreRemoved() throws {
    try withAnn { site, ann, _ in
      let outcomes: [Character: APNsOutcome] = [
        "a": .accepted(apnsID: "x"),
        "b": .rejected(status: 400, reason: .init(rawValue: "BadDeviceToken")),
        "c": .rejected(status: 400, reason: .init(rawValue: "DeviceTokenNotForTopic")),
        "d": .unregistered(reason: .init(rawValue: "Unregistered"), since: site.now + .seconds(60)),
        "e": .unregistered(reason: .init(rawValue: "Unregistered"), since: site.now - .seconds(60)),
        "f": .unregistered(reason: .init(rawValue: "ExpiredToken"), since: nil),
        "g": .rejected(status: 503, reason: .init(rawValue: "")),
        "h": .rejected(status: 503, reason: .init(rawValue: "")),
        "i": .rejected(status: 403, reason: .init(rawValue: "InvalidProviderToken")),
        "j": .unanswered, "k": .notProcessed,
      ]
      site.register("lkjihgfedcba", of: ann)
      site.register("z", platform: "android", of: ann)
      let sender = DirectSender(topic: "t", concurrency: 20) { notifications in
        Dictionary(
          uniqueKeysWithValues: notifications.compactMap { notification in
            outcomes[notification.token.text.first!].map { (notification.id, $0) }
          })
      }
      let answer = try site.withCompanion(sender) { site.push("test", "{}", by: ann) }
      #expect(
        answer.sends == [
          "z false 0 UnsupportedPlatform", "a true 200 id", "b false 400 BadDeviceToken id",
          "c false 400 DeviceTokenNotForTopic id", "d false 410 Unregistered id",
          "e false 410 Unregistered id", "f false 410 ExpiredToken id", "g false 503 id",
          "h false 503 id", "i false 403 InvalidProviderToken id", "j false 0 NoAnswer id",
          "k false 0 NotSent", "l false 0 NotSent",
        ])
      #expect(answer.text.hasPrefix(#"{"successCount":1,"failureCount":12,"failureReasons":{"#))
      #expect(
        answer["failureReasons"] as? [String: Int] == [
          "UnsupportedPlatform": 1, "BadDeviceToken": 1, "DeviceTokenNotForTopic": 1,
          "Unregistered": 2, "ExpiredToken": 1, "HTTP_503": 2, "InvalidProviderToken": 1,
          "NoAnswer": 1, "NotSent": 2,
        ])
      #expect(answer["apnsSendConcurrency"] as? Int == 20)
      #expect(answer["staleTokensRemoved"] as? Int == 3)
      #expect(
        site.sql("SELECT GROUP_CONCAT(LEFT(token, 1) ORDER BY token SEPARATOR '') FROM push_tokens")
          == "aefghijklz")
      #expect(site.count("dead_tokens") == 3)
    }
  }

  @Test func aTokenRegisteredAgainDuringTheTestStays() throws {
    try withAnn { site, ann, _ in
      site.register("ab", of: ann)
      let sender = DirectSender(topic: "t", concurrency: 4) { notifications in
        site.advance(by: .seconds(10))
        for letter in "ab" {
          site.push("register", #"{"token":"\#(pushTokenText(letter))"}"#, by: ann)
        }
        let reason = APNsOutcome.Reason(rawValue: "BadDeviceToken")
        return [
          notifications[0].id: .rejected(status: 400, reason: reason),
          notifications[1].id: .unregistered(
            reason: .init(rawValue: "Unregistered"), since: site.now - .seconds(1)),
        ]
      }
      let answer = try site.withCompanion(sender) { site.push("test", "{}", by: ann) }
      #expect(answer["failureCount"] as? Int == 2)
      #expect(answer["staleTokensRemoved"] as? Int == 0)
      #expect(site.count("push_tokens") == 2)
    }
  }

  @Test func aDeviceWithPushOffGetsATestOnlyIfItsTokenIsNamed() throws {
    try withAnn { site, ann, elsewhere in
      site.register("a", of: ann)
      site.register("b", of: elsewhere)
      site.post(#"{"push_enabled":false}"#, by: ann)
      try site.withCompanion(.accepting) {
        #expect(
          site.push("test", "{}", by: ann).sends == ["b true 200 id", "a false 0 PushDisabled"])
        #expect(
          site.push("test", #"{"token":"\#(pushTokenText())"}"#, by: ann).sends == ["a true 200 id"]
        )
        site.post(#"{"push_enabled":true}"#, by: ann)
        #expect(site.push("test", "{}", by: ann).sends == ["b true 200 id", "a true 200 id"])
      }
      #expect(site.count("push_tokens") == 2)
    }
  }

  private func notRegistered(_ stale: Int, _ lookups: Int) -> String {
    #"{"error":"Token is not registered for this user","staleOwnershipTokensRemoved":\#(stale),"#
      + #""pushMetadataLookupConcurrency":\#(lookups),"invalidStoredTokensRemoved":0,"#
      + #""skippedNonStringTokenCount":0}"#
  }

  @Test func aTokenOfAnotherAccountIs403() throws {
    try withAnn { site, ann, _ in
      let bob = try site.signUp(email: "bob@example.org", device: "device-9")
      site.register("b", of: bob)
      site.register("a", of: ann)
      for letter: Character in ["b", "c", "A"] {
        let answer = site.push("test", #"{"token":"\#(pushTokenText(letter))"}"#, by: ann)
        #expect(answer.status == 403)
        #expect(answer.text == notRegistered(0, 0))
        #expect(answer.crossOriginFields == Answer.allowed)
      }
      #expect(site.count("push_tokens") == 2)
      #expect(site.count("jobs") == 0)
    }
  }

  @Test func aTestWithoutTokensIs400() throws {
    try withAnn { site, ann, _ in
      let none = { (malformed: Int) in
        let answer = site.push("test", "{}", by: ann)
        #expect(answer.status == 400)
        #expect(
          answer.text
            == #"{"error":"No registered push tokens for this user","#
            + #""invalidStoredTokensRemoved":\#(malformed),"skippedNonStringTokenCount":0}"#)
      }
      none(0)
      site.insertMalformedToken("short")
      site.insertMalformedToken("\(pushTokenText())/")
      none(2)
      none(0)
    }
  }

  /// A token can be registered while its device is revoked.
  @Test func tokensOfARevokedDeviceAreRemoved() throws {
    try withAnn { site, ann, elsewhere in
      site.register("ab", of: elsewhere)
      site.insertMalformedToken("short")
      site.sql("UPDATE devices SET revoked_at = NOW(3) WHERE client_device_id = 'device-2'")
      let application = site.sibling(settings: .ofTests(pushLookupConcurrency: 12))
      let named = site.push(
        "test", #"{"token":"\#(pushTokenText("a"))"}"#, by: ann, to: application)
      #expect(named.status == 403)
      #expect(named.text == notRegistered(1, 12))
      let answer = site.push("test", "{}", by: ann, to: application)
      #expect(answer.status == 400)
      #expect(
        answer.text
          == #"{"error":"No owned push tokens for this user","staleOwnershipTokensRemoved":1,"#
          + #""pushMetadataLookupConcurrency":12,"invalidStoredTokensRemoved":1,"#
          + #""skippedNonStringTokenCount":0}"#)
      #expect(site.count("push_tokens") == 0)
      site.register("c", of: ann)
      site.insertMalformedToken("short")
      site.insertMalformedToken("aaaaaaaaaaaaaaaaaaaaaaaa", device: "device-2")
      let sent = try site.withCompanion(.accepting) { site.push("test", "{}", by: ann) }
      #expect(sent.sends == ["c true 200 id"])
      #expect(sent["staleOwnershipTokensRemoved"] as? Int == 1)
      #expect(sent["invalidStoredTokensRemoved"] as? Int == 1)
    }
  }

  @Test func anUnconfiguredCompanionIs500() throws {
    try withAnn { site, ann, _ in
      site.register("a", of: ann)
      let answer = try site.withCompanion(nil) { site.push("test", "{}", by: ann) }
      #expect(answer.status == 500)
      #expect(
        answer.text == #"{"error":"APNs is not configured.","missingEnvVars":["APNS_KEY_ID"]}"#)
    }
  }

  @Test func withoutAPNsOthersThanAppleGetATest() throws {
    try withAnn { site, ann, elsewhere in
      site.register("z", platform: "android", of: ann)
      site.register("a", of: elsewhere)
      site.seeCompanion(missing: "APNS_KEY_ID")
      let notConfigured =
        #"{"error":"APNs is not configured.","missingEnvVars":["APNS_KEY_ID"]}"#
      try site.withCompanion(.accepting, to: [.android, .web]) {
        let named = site.push("test", #"{"token":"\#(pushTokenText("z"))"}"#, by: ann)
        #expect(named.status == 200)
        #expect(named.sends == ["z true 200 id"])
        for body in ["{}", #"{"token":"\#(pushTokenText("a"))"}"#, #"{"title":7}"#] {
          let answer = site.push("test", body, by: ann)
          #expect(answer.status == 500, "\(body)")
          #expect(answer.text == notConfigured)
        }
        site.push("unregister", #"{"token":"\#(pushTokenText("a"))"}"#, by: ann)
        #expect(site.push("test", "{}", by: ann).sends == ["z true 200 id"])
      }
      #expect(site.count("jobs") == 2)
      let nothing = try site.withCompanion(nil) { site.push("test", "{}", by: ann) }
      #expect(nothing.status == 500, "no way to send is set at all")
      #expect(nothing.text == notConfigured)
    }
  }

  @Test func anOverdueTestIs504AndIsStillSent() throws {
    try withAnn { site, ann, _ in
      site.register("a", of: ann)
      let application = site.sibling(waitLimit: .milliseconds(20))
      let answer = site.push("test", "{}", by: ann, to: application)
      #expect(
        answer.isPushError(504, "No outcome within 10 seconds; it is still worked on"))
      let isSent = Mutex(false)
      try site.withCompanion(
        DirectSender(topic: "t", concurrency: 4) { _ in
          isSent.withLock { $0 = true }
          return [:]
        }
      ) {
        #expect(site.push("test", "{}", by: ann).status == 200)
      }
      #expect(isSent.withLock { $0 })
      #expect(site.sql("SELECT DISTINCT state FROM jobs") == "done")
    }
  }

  @Test func aTestThatIsGivenUpIs500() throws {
    try withAnn { site, ann, _ in
      site.register("a", of: ann)
      site.sql(
        """
        CREATE TRIGGER give_up BEFORE INSERT ON jobs FOR EACH ROW
        SET NEW.state = 'dead', NEW.finished_at = UTC_TIMESTAMP(3)
        """)
      #expect(site.push("test", "{}", by: ann).isPushError(500, "Internal server error"))
    }
  }

  @Test func aTestIs503WhileTooManyRequestsWait() throws {
    try withAnn { site, ann, _ in
      site.register("a", of: ann)
      let application = site.sibling(beginWaiting: { false })
      let answer = site.push("test", "{}", by: ann, to: application)
      #expect(answer.isPushError(503, "Too many requests are waiting"))
      #expect(answer.field("Retry-After") == "5")
      #expect(site.count("jobs") == 0)
    }
  }

  @Test func aTestGoesToAtMost500Devices() throws {
    try withAnn { site, ann, _ in
      site.sql(
        """
        INSERT INTO push_tokens (token, device_id, platform, registered_at)
        SELECT LPAD(seq, 512, 'a'), d.id, 'ios', '2026-01-01' + INTERVAL seq SECOND
        FROM seq_1_to_510 JOIN devices d ON d.client_device_id = 'device-1'
        """)
      let answer = try site.withCompanion(.accepting) { site.push("test", "{}", by: ann) }
      #expect(answer["successCount"] as? Int == 500)
      #expect(answer.text.contains("aaaa510\""))
      #expect(!answer.text.contains("aaaa10\""))
    }
  }
}

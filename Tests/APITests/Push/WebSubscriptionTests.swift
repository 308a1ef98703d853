import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// `/api/push/vapid-key`, `/api/push/subscribe` and `/api/push/unsubscribe`.
@Suite struct WebSubscriptionTests {
  private static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAAA"
  private static let token = WebSubscription.token(ofEndpoint: endpoint).text

  private static let settings = WebPushSettings(
    publicKey:
      "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs",
    services: PushServices(more: ["push.example.org:8443"]))

  /// A site with Web Push, and Ann on device 1.
  private func withPage(
    _ body: (TestApplication, Application, SignedIn) throws -> Void
  ) throws {
    try withApplication { site in
      let responder = site.sibling(settings: .ofTests(webPush: Self.settings))
      try body(site, responder, try site.signUp())
    }
  }

  private static func body(
    _ endpoint: String = endpoint, point: [UInt8]? = nil, secret: [UInt8]? = nil
  ) -> String {
    // Without a key, the test fails at its subscription.
    let point = point ?? (try? P256PrivateKey.generate().publicKey().uncompressedPoint) ?? []
    let secret = secret ?? randomBytes(16)
    return """
      {"endpoint":"\(endpoint)","expirationTime":null,"keys":\
      {"p256dh":"\(base64URLEncoded(point))","auth":"\(base64URLEncoded(secret))"}}
      """
  }

  private func rows(_ site: TestApplication) -> String {
    site.sql(
      """
      SELECT s.token, t.platform, d.client_device_id FROM web_subscriptions s
      JOIN push_tokens t ON t.token = s.token JOIN devices d ON d.id = t.device_id
      """)
  }

  @Test func pagesLearnTheKeyWithoutSigningIn() throws {
    try withPage { _, responder, _ in
      let answer = responder.push("vapid-key", "", method: "GET", fields: [pushOrigin])
      #expect(answer.status == 200)
      #expect(answer.text == #"{"publicKey":"\#(Self.settings.publicKey)"}"#)
      #expect(answer.field("Access-Control-Allow-Origin") == "http://localhost:3000")
      let foreign = responder.push(
        "vapid-key", "", method: "GET", fields: [("Origin", "https://evil.example")])
      #expect(foreign.status == 403)
    }
  }

  @Test func aSiteWithoutAKeySaysSo() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let expected =
        #"{"error":"Web Push is not configured.","missingEnvVars":["WEBPUSH_VAPID_PUBLIC_KEY"]}"#
      let key = site.application.push("vapid-key", "", method: "GET", fields: [pushOrigin])
      #expect(key.status == 500)
      #expect(key.text == expected)
      let answer = site.push("subscribe", Self.body(), by: ann)
      #expect(answer.status == 500)
      #expect(answer.text == expected)
    }
  }

  @Test func aSubscriptionBecomesAPushTokenOfTheDevice() throws {
    try withPage { site, responder, ann in
      let answer = site.push("subscribe", Self.body(), by: ann, to: responder)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(answer.text == #"{"success":true,"token":"\#(Self.token)","platform":"web"}"#)
      #expect(answer.crossOriginFields == Answer.allowed)
      #expect(rows(site) == "\(Self.token)\tweb\tdevice-1")
      #expect(site.audited("push_token_set") == 1)
    }
  }

  @Test func onlyTheCompanionCanReadIt() throws {
    try withPage { site, responder, ann in
      let secret = randomBytes(16)
      let point = try P256PrivateKey.generate().publicKey().uncompressedPoint
      site.push("subscribe", Self.body(point: point, secret: secret), by: ann, to: responder)
      let sealed = site.sql("SELECT sealed FROM web_subscriptions")
      for text in [Self.endpoint, "mozilla", base64URLEncoded(secret), base64URLEncoded(point)] {
        #expect(!site.sql("SELECT * FROM web_subscriptions, push_tokens").contains(text))
      }
      let opened = try open(
        sealed, authenticating: WebSubscription.sealingContext(of: Self.token),
        with: TestApplication.boxKeys)
      let expected = WebSubscription(
        endpoint: Self.endpoint, publicKey: base64URLEncoded(point),
        authentication: base64URLEncoded(secret))
      #expect(try decoded(WebSubscription.self, from: opened) == expected)
    }
  }

  @Test func theSameEndpointStaysOneSubscriptionOfWhoeverCameLast() throws {
    try withPage { site, responder, ann in
      site.push("subscribe", Self.body(), by: ann, to: responder)
      let first = site.sql("SELECT sealed FROM web_subscriptions")
      let bob = try site.signUp(email: "bob@example.org", device: "device-9")
      #expect(site.push("subscribe", Self.body(), by: bob, to: responder).status == 200)
      #expect(rows(site) == "\(Self.token)\tweb\tdevice-9")
      #expect(site.sql("SELECT sealed FROM web_subscriptions") != first)
    }
  }

  private static let unknownService =
    "Endpoint must be the https address of a known push service"
  private static let required = "Endpoint is required"
  private static let malformed =
    "Keys must be p256dh and auth of a push subscription, in base64url"

  private static let refused: [(body: String, message: String)] = [
    ("[]", "Request body must be a JSON object"), ("", required), ("{}", required),
    (#"{"endpoint":5}"#, required), (#"{"endpoint":" "}"#, required),
    (body("http://fcm.googleapis.com/x"), unknownService),
    (body("https://push.evil.example/x"), unknownService),
    (body("https://127.0.0.1/x"), unknownService), (body("https://[::1]/x"), unknownService),
    (body("https://169.254.169.254/latest"), unknownService),
    (body("https://fcm.googleapis.com:8443/x"), unknownService),
    (body("https://fcm.googleapis.com@evil.example/x"), unknownService),
    (body("https://fcm.googleapis.com.evil.example/x"), unknownService),
    (body("https://notify.windows.com/x"), unknownService),
    (body("https://evilnotify.windows.com/x"), unknownService),
    (body("https://push.example.org/x"), unknownService),
    (body("https://fcm.googleapis.com/\(String(repeating: "x", count: 1024))"), unknownService),
    (#"{"endpoint":"\#(endpoint)"}"#, malformed),
    (#"{"endpoint":"\#(endpoint)","keys":"x"}"#, malformed),
    (#"{"endpoint":"\#(endpoint)","keys":{"p256dh":"BA","auth":5}}"#, malformed),
    (#"{"endpoint":"\#(endpoint)","keys":{"p256dh":"B+/=","auth":"AAAA"}}"#, malformed),
    (body(point: [UInt8](repeating: 4, count: 65)), malformed),
    (body(point: [4]), malformed), (body(secret: [UInt8](repeating: 1, count: 15)), malformed),
  ]

  @Test(arguments: refused)
  func wrongBodiesAre400(_ body: String, _ message: String) throws {
    try withPage { site, responder, ann in
      let answer = site.push("subscribe", body, by: ann, to: responder)
      #expect(answer.isPushError(400, message), "\(answer.text)")
      #expect(rows(site) == "")
    }
  }

  @Test func misleadingEndpointsAre400() throws {
    try withPage { site, responder, ann in
      let endpoints = misleadingEndpoints(port: 29443)
      #expect(endpoints.count >= 40)
      for endpoint in endpoints {
        let text = String(
          decoding: JSONWriter.array(of: [endpoint]).dropFirst().dropLast(), as: UTF8.self)
        let body = Self.body("ENDPOINT").replacing(#""ENDPOINT""#, with: text)
        let answer = site.push("subscribe", body, by: ann, to: responder)
        #expect(answer.isPushError(400, Self.unknownService), "\(text): \(answer.text)")
      }
      #expect(rows(site) == "")
    }
  }

  @Test(arguments: [
    "https://fcm.googleapis.com/fcm/send/abc:def", "https://web.push.apple.com/QJ",
    "https://wns2-by3p.notify.windows.com/w/?token=BQ", "https://push.example.org:8443/1",
  ])
  func theKnownServicesAndThoseOfTheSettingsAreTaken(endpoint: String) throws {
    try withPage { site, responder, ann in
      let answer = site.push("subscribe", Self.body(endpoint), by: ann, to: responder)
      #expect(answer.status == 200, "\(answer.text)")
    }
  }

  @Test func unsubscribingRemovesTheAccountsOwnOnly() throws {
    try withPage { site, responder, ann in
      site.push("subscribe", Self.body(), by: ann, to: responder)
      let bob = try site.signUp(email: "bob@example.org", device: "device-9")
      let body = #"{"endpoint":"\#(Self.endpoint)"}"#
      #expect(
        site.push("unsubscribe", body, by: bob, to: responder).text
          == #"{"success":true,"removed":0}"#)
      #expect(
        site.push("unsubscribe", body, by: ann, to: responder).text
          == #"{"success":true,"removed":1}"#)
      #expect(rows(site) == "")
      #expect(site.push("unsubscribe", "{}", by: ann).isPushError(400, Self.required))
    }
  }

  @Test func whateverRemovesThePushTokenRemovesTheSubscription() throws {
    try withPage { site, responder, ann in
      site.push("subscribe", Self.body(), by: ann, to: responder)
      #expect(site.push("unregister", "{}", by: ann)["removed"] as? Int == 1)
      #expect(site.sql("SELECT COUNT(*) FROM web_subscriptions") == "0")
    }
  }

  /// Only `subscribe` makes the token of a subscription. As an Apple token it would replace the
  /// browser's.
  @Test func nobodyRegistersSuchATokenHimself() throws {
    try withPage { site, responder, ann in
      let answer = site.push("register", #"{"token":"\#(Self.token)"}"#, by: ann, to: responder)
      #expect(answer.isPushError(400, "Invalid push token format"), "\(answer.text)")
    }
  }
}

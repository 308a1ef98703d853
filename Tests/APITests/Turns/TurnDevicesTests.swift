import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// Registration of Android devices and browsers, and the description that a device sends.
@Suite struct TurnDevicesTests {
  private static let android = "cOd3:APA91bH_" + String(repeating: "Z", count: 120)
  private static let endpoint = "https://updates.push.services.mozilla.com/wpush/v2/gAAAA"
  private static let keys = """
    {"p256dh":"BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs",\
    "auth":"AAAAAAAAAAAAAAAAAAAAAA"}
    """
  private static let subscription = """
    {"endpoint":"\(endpoint)","expirationTime":null,"keys":\(keys)}
    """

  private func withPhone(_ body: (TestApplication, Application, TurnsPhone) throws -> Void) throws {
    try withApplication { site throws in
      let settings = WebPushSettings(
        publicKey:
          "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs",
        services: PushServices())
      try body(site, site.sibling(settings: .ofTests(webPush: settings)), try site.phone())
    }
  }

  private func send(
    _ responder: Application, _ phone: TurnsPhone, _ method: String, _ members: String,
    language: String? = nil
  ) -> Answer {
    responder.send(
      method, "/register", #"{"user_id":"\#(phone.user)",\#(members)}"#,
      fields: [("X-API-Key", phone.key)] + (language.map { [("Accept-Language", $0)] } ?? []))
  }

  private func rows(_ site: TestApplication) -> String {
    site.sql("SELECT channel, device_token, language FROM ogs_registrations ORDER BY channel")
  }

  @Test(arguments: [
    #""platform":"android""#, #""token_type":"fcm""#, #""platform":"Android","token_type":"FCM""#,
  ])
  func anAndroidDeviceIsRegisteredFoundAndUnregistered(kind: String) throws {
    try withPhone { site, responder, phone throws in
      let body = #""device_token":" \#(Self.android) ",\#(kind)"#
      #expect(send(responder, phone, "POST", body).text == #"{"status":"registered"}"#)
      #expect(rows(site) == "fcm\t\(Self.android)\tNULL")
      #expect(
        phone.send("GET", "/users-by-token/\(Self.android)").text
          == #"{"device_token":"\#(Self.android)","user_ids":["1783478"]}"#)
      #expect(send(responder, phone, "DELETE", body).text == #"{"status":"unregistered"}"#)
      #expect(rows(site) == "")
    }
  }

  @Test func aBrowserIsRegisteredSealedAndUnregistered() throws {
    try withPhone { site, responder, phone throws in
      let token = WebSubscription.token(ofEndpoint: Self.endpoint).text
      let body = #""subscription":\#(Self.subscription)"#
      for _ in 0..<2 {
        #expect(
          send(responder, phone, "POST", body).text
            == #"{"status":"registered","device_token":"\#(token)"}"#)
      }
      #expect(rows(site) == "webpush\t\(token)\tNULL")
      let sealed = site.sql("SELECT sealed FROM ogs_registrations")
      #expect(sealed.hasPrefix("box:") && !sealed.contains("mozilla"))
      for body in [
        #""subscription":{"endpoint":"\#(Self.endpoint)"}"#,
        #""device_token":"\#(token)","platform":"web""#,
      ] {
        _ = send(responder, phone, "POST", #""subscription":\#(Self.subscription)"#)
        #expect(send(responder, phone, "DELETE", body).status == 200)
        #expect(rows(site) == "")
      }
    }
  }

  @Test(arguments: [
    (#""device_token":"\#(android)""#, "Invalid device token"),
    (#""device_token":"web:\#(TurnsPhone.token)","platform":"android""#, "Invalid device token"),
    (#""device_token":"short","token_type":"fcm""#, "Invalid device token"),
    (
      #""device_token":"\#(TurnsPhone.token)","platform":"windows""#,
      "platform must be ios, macos, android or web"
    ),
    (
      #""device_token":"\#(TurnsPhone.token)","token_type":"hms""#,
      "token_type must be apns, fcm or web"
    ),
    (
      #""device_token":"\#(android)","platform":"ios","token_type":"fcm""#,
      "platform, token_type and subscription contradict each other"
    ),
    (
      #""subscription":\#(subscription),"platform":"android""#,
      "platform, token_type and subscription contradict each other"
    ),
    (#""device_token":"web:x","platform":"web""#, "subscription is required"),
    (
      #""subscription":{"endpoint":"http://127.0.0.1/x","keys":\#(keys)}"#,
      "Endpoint must be the https address of a known push service"
    ),
    (
      #""subscription":{"endpoint":"https://evil.example/x","keys":\#(keys)}"#,
      "Endpoint must be the https address of a known push service"
    ),
    (
      #""subscription":{"endpoint":"\#(endpoint)","keys":{"p256dh":"AAAA","auth":"AAAA"}}"#,
      "Keys must be p256dh and auth of a push subscription, in base64url"
    ),
    (
      #""subscription":{"endpoint":"\#(endpoint)"}"#,
      "Keys must be p256dh and auth of a push subscription, in base64url"
    ),
    (#""subscription":"x""#, "Invalid JSON"),
    (
      #""device_token":"\#(TurnsPhone.token)","quiet_hours":{"from":"22:00","to":"22:00"}"#,
      "quiet_hours must be null, or have from and to: two different times such as 22:00"
    ),
    (
      #""device_token":"\#(TurnsPhone.token)","time_zone":"Mars/Base""#,
      "time_zone must be a name such as Europe/Berlin"
    ),
  ])
  func malformedDevicesAreRefused(members: String, text: String) throws {
    try withPhone { site, responder, phone throws in
      expect(send(responder, phone, "POST", members), 400, text)
      #expect(rows(site) == "")
    }
  }

  @Test func browsersAreRefusedWhereWebPushIsNotConfigured() throws {
    try withApplication { site throws in
      let phone = try site.phone()
      let answer = phone.send(
        "POST", "/register",
        #"{"user_id":"\#(phone.user)","subscription":\#(Self.subscription)}"#)
      expect(answer, 500, "Web Push is not configured.")
    }
  }

  @Test(
    arguments: [
      (#","language":"de-AT""#, nil, "de"), (#","language":"fa_IR""#, nil, "fa"),
      (#","language":"it""#, "de", "en"), ("", "es-MX,en;q=0.5", "es"), ("", "it", "NULL"),
      ("", nil, "NULL"),
    ] as [(String, String?, String)])
  func theLanguageIsThatOfTheDevice(member: String, field: String?, language: String) throws {
    try withPhone { site, responder, phone throws in
      let body = #""device_token":"\#(TurnsPhone.token)"\#(member)"#
      #expect(send(responder, phone, "POST", body, language: field).status == 200)
      #expect(site.sql("SELECT language FROM ogs_registrations") == language)
    }
  }

  @Test func quietHoursOfADeviceAreKeptUntilTheyAreChanged() throws {
    try withPhone { site, responder, phone throws in
      let hours = "SELECT quiet_from, quiet_to, time_zone FROM ogs_registrations"
      for (members, kept) in [
        (#","quiet_hours":{"from":"22:30","to":"07:00"}"#, "1350\t420\tNULL"),
        ("", "1350\t420\tNULL"),
        (
          #","quiet_hours":{"from":"23:00","to":"06:00"},"time_zone":"Asia/Tokyo""#,
          "1380\t360\tAsia/Tokyo"
        ),
        (#","quiet_hours":null"#, "NULL\tNULL\tNULL"),
      ] {
        let body = #""device_token":"\#(TurnsPhone.token)"\#(members)"#
        #expect(send(responder, phone, "POST", body).status == 200)
        #expect(site.sql(hours) == kept)
      }
    }
  }

  @Test func nothingOfADeletedUserStays() throws {
    try withPhone { site, _, phone throws in
      _ = phone.register()
      site.sql(
        """
        INSERT INTO turn_alerts (ogs_user_id, device_token, collapse_id, kind, games, shown_at)
          VALUES (\(phone.user), '\(TurnsPhone.token)', 'c', 'turn', '[]', NOW(3)), (1, 'x', 'c', 'turn', '[]', NOW(3))
        """)
      #expect(phone.send("DELETE", "/users/\(phone.user)").status == 200)
      #expect(site.sql("SELECT ogs_user_id FROM turn_alerts") == "1")
    }
  }
}

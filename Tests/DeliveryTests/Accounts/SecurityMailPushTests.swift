import Base
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The pushes that accompany mails to owners.
@Suite struct SecurityMailPushTests {
  private let mail = Mail(
    id: "01890a5d-ac96-774b-bcce-b302099a8057", kind: .passkeyAdded, recipient: "ann@example.org",
    sealed: "")

  /// Adds the mail, and a phone of Ann's for each of `tokens`: `c` is not a phone of Apple, `d` takes no pushes,
  /// `e` is a browser, `f` is signed out.
  private func arrange(_ delivery: TestDelivery, tokens: [String]) {
    delivery.sql(
      """
      INSERT INTO outbox (id, kind, recipient, due_at, created_at, expires_at, request_id)
      VALUES ('\(mail.id)', 'passkey_added', '\(mail.recipient)', UTC_TIMESTAMP(3) + INTERVAL 1 HOUR,
        UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) + INTERVAL 7 DAY, 'r')
      """)
    for letter in tokens {
      delivery.sql(
        """
        SET @id = UUID();
        INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at)
        SELECT @id, id, '\(letter)', 'D', 'ios', NOW(3), NOW(3) FROM accounts;
        INSERT INTO push_tokens (token, device_id, platform, registered_at)
        VALUES (REPEAT('\(letter)', 64), @id, CASE '\(letter)' WHEN 'c' THEN 'android' WHEN 'e' THEN 'web' ELSE 'ios' END, NOW(3));
        INSERT INTO device_preferences (device_id, last_updated_at, version, push_enabled)
        VALUES (@id, NOW(3), 1, '\(letter)' <> 'd');
        INSERT INTO sessions (id, device_id, created_at, rotated_at, expires_at, began_by)
        SELECT UUID(), @id, NOW(3), NOW(3), NOW(3) + INTERVAL 1 DAY, 'code' FROM DUAL
        WHERE '\(letter)' <> 'f'
        """)
    }
  }

  private func pushes(_ delivery: TestDelivery) -> String {
    delivery.sql(
      """
      SELECT n.kind, LEFT(d.token, 1), d.state FROM notifications n
      JOIN deliveries d ON d.notification_id = n.id ORDER BY d.token
      """)
  }

  @Test func aNoticeIsPushedOnceToEachDeviceOfTheAccount() throws {
    try withDelivery { delivery throws in
      arrange(delivery, tokens: ["a", "b", "c", "d", "f"])
      let content = MailContent(
        secret: "a.b", language: .german, device: "D", address: "192.0.2.1", at: .now())
      let push = try #require(SecurityMailPush.announcement(with: content.json, of: mail))
      let text = String(decoding: push.apnsPayload, as: UTF8.self)
      #expect(text.contains(#""title":"Ihr Konto hat einen neuen Passkey""#))
      #expect(!text.contains("a.b"))
      let notices = delivery.companionDatabase.records(at: .now(), from: .companion).notices
      for _ in 1...2 { try notices.push(push, with: mail, by: [.ios: .apns]) }
      #expect(pushes(delivery) == "account\ta\topen\naccount\tb\topen")
    }
  }

  /// After a day, the purge deletes what was delivered. The mail may be tried for a week.
  @Test func aMailThatIsTriedForDaysIsPushedOnce() throws {
    try withDelivery { delivery throws in
      arrange(delivery, tokens: ["a"])
      let notices = delivery.companionDatabase.records(at: .now(), from: .companion).notices
      let push = NotificationContent(collapseID: mail.id)
      try notices.push(push, with: mail, by: [.ios: .apns])
      #expect(pushes(delivery) == "account\ta\topen")
      delivery.sql(
        """
        UPDATE deliveries SET state = 'delivered', due_at = due_at - INTERVAL 25 HOUR,
          finished_at = due_at;
        UPDATE notifications SET created_at = created_at - INTERVAL 25 HOUR;
        UPDATE outbox SET created_at = created_at - INTERVAL 25 HOUR;
        """)
      try delivery.companion(mailer: nil, channels: []).pass()
      #expect(delivery.sql("SELECT COUNT(*) FROM notifications") == "0")
      try notices.push(push, with: mail, by: [.ios: .apns])
      #expect(pushes(delivery) == "")
    }
  }

  @Test func eachTokenGetsItByTheChannelOfItsPlatform() throws {
    try withDelivery { delivery throws in
      arrange(delivery, tokens: ["a", "c", "d", "e"])
      delivery.sql(
        "UPDATE push_tokens SET bundle_id = 'com.example.other' WHERE token LIKE 'a%'")
      let notices = delivery.companionDatabase.records(at: .now(), from: .companion).notices
      try notices.push(
        NotificationContent(collapseID: mail.id), with: mail,
        by: [.ios: .apns, .android: .fcm, .web: .webPush])
      #expect(
        delivery.sql(
          "SELECT LEFT(token, 1), channel, bundle_id FROM deliveries ORDER BY token")
          == "a\tapns\tcom.example.other\nc\tfcm\tNULL\ne\twebpush\tNULL")
    }
  }

  @Test func noPushGoesWhereTheAccountHasNoDevice() throws {
    try withDelivery { delivery throws in
      arrange(delivery, tokens: [])
      let notices = delivery.companionDatabase.records(at: .now(), from: .companion).notices
      try notices.push(NotificationContent(collapseID: mail.id), with: mail, by: [.ios: .apns])
      #expect(pushes(delivery) == "")
      #expect(delivery.sql("SELECT COUNT(*) FROM notifications") == "0")
    }
  }

  /// It waits for Apple meanwhile.
  @Test(arguments: [
    "UPDATE sessions SET ended_at = NOW(3), end_reason = 'logout'",
    "UPDATE device_preferences SET push_enabled = FALSE", "DELETE FROM push_tokens",
  ])
  func aDeviceThatIsSignedOutMeanwhileGetsNoPush(change: String) throws {
    try withDelivery { delivery throws in
      arrange(delivery, tokens: ["a"])
      let notices = delivery.companionDatabase.records(at: .now(), from: .companion).notices
      try notices.push(NotificationContent(collapseID: mail.id), with: mail, by: [.ios: .apns])
      delivery.sql(change)
      try withAPNs { fake throws in
        #expect(try delivery.send(by: fake) == DeliveryReport())
      }
      #expect(delivery.states == "dead withdrawn 0 1")
    }
  }

  @Test(arguments: [MailKind.loginCode, .emailConfirmation])
  func aMailWithASecretIsNotPushed(kind: MailKind) {
    let content = MailContent(
      secret: "012345", language: .english, device: "D", address: "192.0.2.1", at: .now())
    let mail = Mail(id: "x", kind: kind, recipient: "ann@example.org", sealed: "")
    #expect(SecurityMailPush.announcement(with: content.json, of: mail) == nil)
  }

  /// Rows written by hand send no mail to strangers.
  @Test func aMailToWhomNoAccountBelongsIsGivenUp() throws {
    try withDelivery { delivery throws in
      try delivery.requestCode()
      delivery.sql("UPDATE outbox SET recipient = 'stranger@example.org'")
      try delivery.companion(mailer: .directory(delivery.folder)).pass()
      #expect(try delivery.files == [])
      #expect(
        delivery.sql("SELECT state, reason FROM outbox") == "dead\tno account has this address")
    }
  }
}

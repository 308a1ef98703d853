import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// Mails from rows of an attacker who has taken over the responder, and so knows the public key
/// that seals mails.
@Suite struct MailRowTests {
  /// Rows with their recipient and sealed secret.
  private static let rows: [(kind: String, recipient: String, secret: String)] = [
    ("login_code", "ann@example.org", "Buy at http://evil.example"),
    ("login_code", "ann@example.org", "12345"), ("login_code", "ann@example.org", "１２３４５６"),
    ("new_device", "ann@example.org", "token&next=//evil.example"),
    ("new_device", "ann@example.org", "a\nhttp://evil.example"),
    ("email_confirmation", "ann@example.org", ""),
    ("account_deleted", "ann@example.org", "http://evil.example"),
    ("login_code", "stranger@example.org", "123456"),
    ("new_device", "stranger@example.org", "token"),
    ("address_change", "stranger@example.org", "token"),
    ("account_deleted", "stranger@example.org>\nBcc: <all@example.org", ""),
    ("account_deleted", "stranger", ""),
  ]

  @Test(arguments: rows.indices)
  func aTextOrAnAddressOfItsOwnIsNotMailed(number: Int) throws {
    let row = Self.rows[number]
    try withDelivery { delivery throws in
      let id = UUID().uuidString.lowercased()
      let content = MailContent(
        secret: row.secret, language: .english, device: "D", address: "192.0.2.1", at: .now())
      let sealed = seal(
        content.json, authenticating: Mail.sealingContext(id), for: TestDelivery.boxKeys.publicKeys)
      let printed = delivery.sqlOfResponder(
        """
        INSERT INTO outbox (id, kind, recipient, sealed, expires_at, request_id)
          VALUES ('\(id)', '\(row.kind)', '\(row.recipient)', '\(sealed)',
            UTC_TIMESTAMP(3) + INTERVAL 1 HOUR, 'r')
        """)
      #expect(printed == "")
      let mails = "\(delivery.folder)/mails"
      try FileManager.default.createDirectory(
        atPath: mails, withIntermediateDirectories: true)
      try delivery.companion(
        mailer: .directory(mails), channels: [], publicURL: "https://site.example"
      ).doUrgentWork()
      #expect(try FileManager.default.contentsOfDirectory(atPath: mails) == [])
      #expect(delivery.sql("SELECT state FROM outbox") == "dead")
    }
  }
}

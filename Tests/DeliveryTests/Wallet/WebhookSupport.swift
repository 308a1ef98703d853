import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

extension TestDelivery {
  /// - Returns: the id of a new merchant.
  func addMerchant(_ name: String = "Shop") throws -> String {
    try #require(
      try records().merchants.add(name, keyHash: randomBytes(32), keyPrefix: "msk_abcdefgh"))
  }

  /// The secret of a merchant, as the companion opens it.
  func openedSecret(of id: String, in column: String = "webhook_secret") throws -> String {
    let sealed = sql("SELECT \(column) FROM merchants WHERE id = '\(id)'")
    return String(
      decoding: try Self.keys.open(
        sealed, authenticating: SealedWebhookSecrets.sealingContext(of: id)), as: UTF8.self)
  }

  /// Adds a confirmed payment of 12.50 EUR with a due webhook that tells it.
  ///
  /// - Returns: the webhook's id.
  @discardableResult
  func addWebhook(of merchant: String, _ event: WebhookEvent = .confirmed) -> String {
    let payment = addPayment(of: merchant)
    let outcome =
      switch event {
      case .confirmed: ""
      case .refunded: "refunded_at = UTC_TIMESTAMP(3), refund_reason = 'Broken',"
      case .cancelled:
        "confirmed_at = NULL, confirmed_by = NULL, card_token = NULL, cancelled_at = UTC_TIMESTAMP(3), cancelled_by = 'payer',"
      case .expired:
        "confirmed_at = NULL, confirmed_by = NULL, card_token = NULL, expired_at = UTC_TIMESTAMP(3),"
      }
    return sql(
      """
      SET time_zone = '+00:00';
      UPDATE payments SET \(outcome) order_id = 'order-1' WHERE id = '\(payment)';
      INSERT INTO webhooks (id, payment_id, merchant_id, event, expires_at)
        VALUES (UUID(), '\(payment)', '\(merchant)', '\(event.rawValue)', UTC_TIMESTAMP(3) + INTERVAL 3 DAY)
        RETURNING id;
      """)
  }

  /// - Returns: the id of a new payment.
  func addPayment(of merchant: String, isConfirmed: Bool = true) -> String {
    let id = "pay_" + base64URLEncoded(randomBytes(16))
    sql(
      """
      SET time_zone = '+00:00';
      INSERT INTO payments (id, merchant_id, amount, currency, order_id, challenge_hash, created_at, expires_at, is_request,
        confirmed_at, confirmed_by, card_token)
      SELECT '\(id)', '\(merchant)', 12.5, 'EUR', 'order \(id)', REPEAT('c', 32), UTC_TIMESTAMP(3),
        UTC_TIMESTAMP(3) + INTERVAL 15 MINUTE, TRUE, IF(c, UTC_TIMESTAMP(3), NULL), IF(c, 'passkey', NULL),
        IF(c, 'card_a', NULL) FROM (SELECT \(isConfirmed) AS c) AS is_confirmed
      """)
    return id
  }
}

/// Statements that violate the constraints of merchants, payments and webhooks.
extension ConstraintTests {
  private static let other = "'\(SampleRows.other)'"

  /// Copies the payment with `columns`.
  private static func second(_ columns: String) -> String {
    "INSERT INTO payments (id, merchant_id, amount, currency, created_at, expires_at, \(columns)) SELECT 'pay_bbbbbbbbbbbbbbbbbbbbbb', merchant_id, amount, currency, created_at, expires_at, \(columns) FROM payments"
  }

  static let payments: [Case] = [
    Case(
      "merchants.PRIMARY",
      "INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at) SELECT id, name, REPEAT('x', 32), 'x', created_at FROM merchants"
    ),
    Case(
      "merchants.merchants_api_key",
      "INSERT INTO merchants (id, name, api_key_hash, api_key_prefix, created_at) SELECT \(other), name, api_key_hash, 'x', created_at FROM merchants"
    ),
    Case("merchants.merchants_name_not_empty", "UPDATE merchants SET name = ''"),
    Case("merchants.merchants_largest_amount_positive", "UPDATE merchants SET largest_amount = 0"),
    Case(
      "merchants.merchants_webhook_url_form",
      "UPDATE merchants SET webhook_url = 'ftp://a', webhook_secret = 's'"),
    Case(
      "merchants.merchants_webhook_url_form",
      #"UPDATE merchants SET webhook_url = 'https://a\n', webhook_secret = 's'"#),
    Case("merchants.merchants_webhook_whole", "UPDATE merchants SET webhook_url = 'https://a'"),
    Case("merchants.merchants_webhook_whole", "UPDATE merchants SET webhook_secret = 's'"),
    Case("merchants.merchants_old_secret_whole", "UPDATE merchants SET old_webhook_secret = 's'"),
    Case(
      "merchants.merchants_old_secret_whole",
      "UPDATE merchants SET old_webhook_secret_until = NOW(3)"),
    Case(
      "payments.PRIMARY",
      "INSERT INTO payments (id, merchant_id, account_id, amount, currency, challenge_hash, created_at, expires_at) SELECT id, merchant_id, account_id, amount, currency, challenge_hash, created_at, expires_at FROM payments"
    ),
    Case("payments.payments_merchant", "UPDATE payments SET merchant_id = \(other)"),
    Case("payments.payments_merchant", "DELETE FROM card_tokens; DELETE FROM merchants"),
    Case("payments.payments_account", "UPDATE payments SET account_id = \(other)"),
    Case("payments.payments_card", "UPDATE payments SET card_id = \(other)"),
    Case("payments.payments_id_form", "UPDATE payments SET id = 'pay_aaaaaaaaaaaaaaaaaaaaa'"),
    Case("payments.payments_id_form", "UPDATE payments SET id = 'pay_aaaaaaaaaaaaaaaaaaaaa+'"),
    Case("payments.payments_amount_positive", "UPDATE payments SET amount = 0"),
    Case("payments.payments_amount_positive", "UPDATE payments SET amount = -0.01"),
    Case("payments.payments_currency_form", "UPDATE payments SET currency = 'cad'"),
    Case("payments.payments_currency_form", "UPDATE payments SET currency = 'CA'"),
    Case("payments.payments_order_id_not_empty", "UPDATE payments SET order_id = ''"),
    Case("payments.payments_attempts", "UPDATE payments SET attempts = 6"),
    Case("payments.payments_confirmed_whole", "UPDATE payments SET confirmed_at = NOW(3)"),
    Case("payments.payments_confirmed_whole", "UPDATE payments SET confirmed_by = 'passkey'"),
    Case(
      "payments.payments_approved_with_challenge",
      "UPDATE payments SET approved_at = NOW(3), challenge_hash = NULL"),
    Case(
      "payments.payments_confirmed_with_challenge",
      "UPDATE payments SET confirmed_at = NOW(3), confirmed_by = 'passkey', challenge_hash = NULL"),
    Case("payments.payments_cancelled_whole", "UPDATE payments SET cancelled_at = NOW(3)"),
    Case("payments.payments_cancelled_whole", "UPDATE payments SET cancelled_by = 'payer'"),
    Case(
      "payments.payments_one_outcome",
      "UPDATE payments SET cancelled_at = NOW(3), cancelled_by = 'payer', expired_at = NOW(3)"),
    Case(
      "payments.payments_one_outcome",
      "UPDATE payments SET confirmed_at = NOW(3), confirmed_by = 'passkey', expired_at = NOW(3)"),
    Case("payments.payments_refund_of_confirmed", "UPDATE payments SET refunded_at = NOW(3)"),
    Case("payments.payments_receipt_of_confirmed", "UPDATE payments SET received_at = NOW(3)"),
    Case("payments.payments_request_has_order", "UPDATE payments SET is_request = TRUE"),
    Case(
      "payments.payments_idempotency_whole",
      "UPDATE payments SET idempotency_hash = REPEAT('i', 32)"),
    Case(
      "payments.payments_idempotency_whole", "UPDATE payments SET request_hash = REPEAT('r', 32)"),
    Case("payments.payments_items_array", "UPDATE payments SET items = '{}'"),
    Case(
      "payments.payments_items_array", "UPDATE payments SET items = '[1'", words: "JSON text"),
    Case(
      "payments.payments_idempotency",
      "UPDATE payments SET idempotency_hash = REPEAT('i', 32), request_hash = REPEAT('r', 32); \(second("idempotency_hash, request_hash"))"
    ),
    Case(
      "payments.payments_open_order",
      "UPDATE payments SET is_request = TRUE, order_id = 'o'; \(second("is_request, order_id"))"),
    Case(
      "webhooks.PRIMARY",
      "INSERT INTO webhooks (id, payment_id, merchant_id, event, expires_at) SELECT id, payment_id, merchant_id, 'payment.refunded', expires_at FROM webhooks"
    ),
    Case(
      "webhooks.webhooks_once",
      "INSERT INTO webhooks (id, payment_id, merchant_id, event, expires_at) SELECT UUID(), payment_id, merchant_id, event, expires_at FROM webhooks"
    ),
    Case(
      "webhooks.webhooks_payment",
      "UPDATE webhooks SET payment_id = 'pay_bbbbbbbbbbbbbbbbbbbbbb'"),
    Case("webhooks.webhooks_merchant", "UPDATE webhooks SET merchant_id = \(other)"),
    Case("webhooks.webhooks_closed_whole", "UPDATE webhooks SET state = 'dead'"),
    Case("webhooks.webhooks_closed_whole", "UPDATE webhooks SET finished_at = NOW(3)"),
    Case(
      "card_tokens.PRIMARY",
      "INSERT INTO card_tokens (card_id, merchant_id, token) SELECT card_id, merchant_id, 'card_b' FROM card_tokens"
    ),
    Case("card_tokens.card_tokens_card", "UPDATE card_tokens SET card_id = \(other)"),
    Case("card_tokens.card_tokens_merchant", "UPDATE card_tokens SET merchant_id = \(other)"),
  ]
}

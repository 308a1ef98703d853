/// Statements that violate the constraints of merchants and payments.
extension ConstraintTests {
  private static let other = "'\(SampleRows.other)'"

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
      "card_tokens.PRIMARY",
      "INSERT INTO card_tokens (card_id, merchant_id, token) SELECT card_id, merchant_id, 'card_b' FROM card_tokens"
    ),
    Case("card_tokens.card_tokens_card", "UPDATE card_tokens SET card_id = \(other)"),
    Case("card_tokens.card_tokens_merchant", "UPDATE card_tokens SET merchant_id = \(other)"),
  ]
}

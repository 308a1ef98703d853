/// Statements that violate the constraints of banks, enrollments and cards.
extension ConstraintTests {
  private static let other = "'\(SampleRows.other)'"
  private static let stateColumns =
    "id, state_hash, nonce_hash, verifier, account_id, session_id, bsim_id, is_mobile, expires_at"

  private static func state(_ values: String) -> String {
    """
    INSERT INTO enrollment_states (\(stateColumns))
    SELECT \(values), nonce_hash, verifier, account_id, session_id, bsim_id, is_mobile, expires_at
    FROM enrollment_states
    """
  }

  private static func card(_ id: String, bankCard: String) -> String {
    """
    INSERT INTO cards (id, enrollment_id, bank_card_id, last_four, card_type, added_at)
    SELECT \(id), enrollment_id, \(bankCard), last_four, card_type, added_at FROM cards
    """
  }

  static let banks: [Case] = [
    Case("banks.PRIMARY", "INSERT INTO banks (bsim_id, name) VALUES ('bank-1', 'B')"),
    Case("banks.banks_bsim_id_form", "INSERT INTO banks (bsim_id, name) VALUES ('a/b', 'B')"),
    Case("banks.banks_bsim_id_form", "INSERT INTO banks (bsim_id, name) VALUES ('', 'B')"),
    Case("banks.banks_bsim_id_form", #"INSERT INTO banks (bsim_id, name) VALUES ('a\n', 'B')"#),
    Case("banks.banks_name_not_empty", "UPDATE banks SET name = ''"),
    Case("banks.banks_connection_whole", "UPDATE banks SET authorization_url = NULL"),
    Case("banks.banks_connection_whole", "UPDATE banks SET token_url = NULL"),
    Case("banks.banks_connection_whole", "UPDATE banks SET cards_url = NULL"),
    Case("banks.banks_connection_whole", "UPDATE banks SET client_id = NULL"),
    Case("banks.banks_connection_whole", "UPDATE banks SET client_secret = NULL"),
    Case("banks.banks_connection_whole", "UPDATE banks SET scope = NULL"),
    Case("banks.banks_urls", #"UPDATE banks SET authorization_url = 'https://a\r\nX: y'"#),
    Case("banks.banks_urls", "UPDATE banks SET token_url = 'ftp://t'"),
    Case("banks.banks_urls", "UPDATE banks SET cards_url = 'https://c d'"),
    Case(
      "enrollments.PRIMARY",
      """
      INSERT INTO banks (bsim_id, name) VALUES ('bank-2', 'B');
      INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at)
      SELECT id, account_id, 'bank-2', enrolled_at FROM enrollments
      """),
    Case(
      "enrollments.enrollments_account_bank",
      """
      INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at)
      SELECT \(other), account_id, bsim_id, enrolled_at FROM enrollments
      """),
    Case("enrollments.enrollments_account", "UPDATE enrollments SET account_id = \(other)"),
    Case("enrollments.enrollments_bank", "UPDATE enrollments SET bsim_id = 'bank-2'"),
    Case(
      "enrollments.enrollments_bank", "DELETE FROM enrollment_states; DELETE FROM banks"),
    Case("cards.PRIMARY", card("id", bankCard: "'card-2'")),
    Case("cards.cards_bank_card", card(other, bankCard: "bank_card_id")),
    Case("cards.cards_enrollment", "UPDATE cards SET enrollment_id = \(other)"),
    Case("cards.cards_bank_card_id_not_empty", "UPDATE cards SET bank_card_id = ''"),
    Case("cards.cards_last_four_digits", "UPDATE cards SET last_four = '424'"),
    Case("cards.cards_last_four_digits", "UPDATE cards SET last_four = '424x'"),
    Case("cards.cards_last_four_digits", #"UPDATE cards SET last_four = '424\n'"#),
    Case("cards.cards_type_upper", "UPDATE cards SET card_type = 'Visa'"),
    Case("cards.cards_type_upper", "UPDATE cards SET card_type = ''"),
    Case("cards.cards_default_is_active", "UPDATE cards SET active = FALSE, is_default = TRUE"),
    Case("cards.cards_expiry", "UPDATE cards SET expiry_month = NULL"),
    Case("cards.cards_expiry", "UPDATE cards SET expiry_year = NULL"),
    Case("cards.cards_expiry", "UPDATE cards SET expiry_month = 0"),
    Case("cards.cards_expiry", "UPDATE cards SET expiry_month = 13"),
    Case("cards.cards_expiry", "UPDATE cards SET expiry_year = 1999"),
    Case("cards.cards_expiry", "UPDATE cards SET expiry_year = 2200"),
    Case("enrollment_states.PRIMARY", state("id, REPEAT('x', 32)")),
    Case("enrollment_states.enrollment_states_state", state("\(other), state_hash")),
    Case(
      "enrollment_states.enrollment_states_account",
      "UPDATE enrollment_states SET account_id = \(other)"),
    Case(
      "enrollment_states.enrollment_states_session",
      "UPDATE enrollment_states SET session_id = \(other)"),
    Case(
      "enrollment_states.enrollment_states_bank", "UPDATE enrollment_states SET bsim_id = 'bank-2'"),
    Case("enrollment_states.enrollment_states_bank", "DELETE FROM enrollments; DELETE FROM banks"),
  ]
}

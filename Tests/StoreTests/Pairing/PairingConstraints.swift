/// Cases for the tables of pairings.
extension ConstraintTests {
  static let pairing: [Case] = [
    Case(
      "pairing_tokens.PRIMARY",
      "INSERT INTO pairing_tokens (nonce, issued_at, expires_at) SELECT nonce, issued_at, expires_at FROM pairing_tokens"
    ),
    Case(
      "pairing_tokens.pairing_tokens_nonce_form",
      "UPDATE pairing_tokens SET nonce = 'nonce-nonce-001'"),
    Case(
      "pairing_tokens.pairing_tokens_nonce_form",
      "UPDATE pairing_tokens SET nonce = 'nonce-nonce+0001'"),
    Case(
      "pairing_tokens.pairing_tokens_expiry_later",
      "UPDATE pairing_tokens SET expires_at = issued_at"),
    Case(
      "pairing_tokens.pairing_tokens_one_end",
      "UPDATE pairing_tokens SET spent_at = NOW(3), revoked_at = NOW(3)"),
    Case(
      "pairing_server.PRIMARY",
      "INSERT INTO pairing_server (session, server_id) VALUES (UUID(), 'server-server-01')"),
    Case(
      "pairing_server.pairing_server_is_one_row",
      "INSERT INTO pairing_server (id, session, server_id) VALUES (2, UUID(), 'server-server-01')"),
    Case(
      "pairing_server.pairing_server_id_form", "UPDATE pairing_server SET server_id = 'server'"),
    Case(
      "pairing_server.pairing_server_current",
      "UPDATE pairing_server SET current_nonce = 'nonce-nonce-0009'"),
    Case(
      "pairings.PRIMARY",
      "INSERT INTO pairings (id, user_agent, address, paired_at, last_used_at, rotated_at, expires_at) SELECT id, 'x', 'x', paired_at, last_used_at, rotated_at, expires_at FROM pairings"
    ),
    Case("pairings.pairings_generation", "UPDATE pairings SET generation = 0"),
    Case("pairings.pairings_end_whole", "UPDATE pairings SET ended_at = NOW(3)"),
    Case("pairings.pairings_end_whole", "UPDATE pairings SET end_reason = 'phone'"),
    Case("pairings.pairings_expiry_later", "UPDATE pairings SET expires_at = rotated_at"),
    Case(
      "pairing_tickets.PRIMARY",
      "INSERT INTO pairing_tickets (ticket_hash, pairing_id, expires_at) SELECT ticket_hash, pairing_id, expires_at FROM pairing_tickets"
    ),
    Case(
      "pairing_tickets.pairing_tickets_pairing",
      "UPDATE pairing_tickets SET pairing_id = '\(SampleRows.other)'"),
    Case(
      "pairing_tickets.pairing_tickets_token",
      "UPDATE pairing_tickets SET pairing_id = NULL, nonce = 'nonce-nonce-0009'"),
    Case(
      "pairing_tickets.pairing_tickets_one_owner", "UPDATE pairing_tickets SET pairing_id = NULL"),
    Case(
      "pairing_tickets.pairing_tickets_one_owner",
      "UPDATE pairing_tickets SET nonce = 'nonce-nonce-0001'"),
  ]
}

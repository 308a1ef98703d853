extension Room {
  static let pairing = Room(
    retention: [
      RetentionRule(.after(.day), "DELETE FROM pairing_tickets WHERE expires_at < ? LIMIT ?"),
      RetentionRule(.after(.day), "DELETE FROM pairing_tokens WHERE expires_at < ? LIMIT ?"),
      RetentionRule(.after(.day * 30), "DELETE FROM pairings WHERE ended_at < ? LIMIT ?"),
      RetentionRule(.after(.day * 30), "DELETE FROM pairings WHERE expires_at < ? LIMIT ?"),
    ],
    whenRestored: [
      "UPDATE pairing_server SET current_nonce = NULL WHERE current_nonce IS NOT NULL",
      """
      UPDATE pairing_tokens SET revoked_at = UTC_TIMESTAMP(3)
      WHERE spent_at IS NULL AND revoked_at IS NULL
      """,
      """
      UPDATE pairing_tickets FORCE INDEX (pairing_tickets_expiry) SET spent_at = UTC_TIMESTAMP(3)
      WHERE spent_at IS NULL AND expires_at > UTC_TIMESTAMP(3)
      """,
    ])
}

extension Limit {
  package static let failedExchanges = Limit(
    name: "exchange-failed", allowed: 10, window: .seconds(60), counts: "failed exchanges",
    per: "IP address")
  /// Tickets of one phone, or of one pairing token. An app asks for one each time it connects.
  package static let tickets = Limit(
    name: "ticket", allowed: 30, window: .seconds(60), counts: "tickets", per: "paired phone")
  /// The window lasts as long as the token that the code stands for.
  package static let typedCodes = Limit(
    name: "pairing-code", allowed: 10, window: .seconds(3600), counts: "tries of the six digits",
    per: "pairing token")
}

extension AuditEvent {
  static let exchangeRefused = AuditEvent.refusal("exchange_refused")
  static let pairingEnded = AuditEvent("pairing_ended")
  static let pairingTokensRevoked = AuditEvent("pairing_tokens_revoked")
  static let phonePaired = AuditEvent("phone_paired")
  static let phoneRenamed = AuditEvent("phone_renamed")
}

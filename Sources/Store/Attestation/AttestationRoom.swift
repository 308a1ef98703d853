extension Room {
  static let attestation = Room(
    retention: [
      RetentionRule(
        .after(.day), "DELETE FROM attestation_challenges WHERE expires_at < ? LIMIT ?"),
      // An app makes a new key if its key is unknown.
      RetentionRule(
        .after(.day * 90),
        "DELETE FROM attestation_keys WHERE bound_at IS NULL AND attested_at < ? LIMIT ?"),
    ],
    whenDeviceIsRevoked: ["DELETE FROM attestation_keys WHERE device_id = ?"],
    whenRestored: [
      """
      UPDATE attestation_challenges FORCE INDEX (attestation_challenges_expiry) SET spent_at = UTC_TIMESTAMP(3)
      WHERE spent_at IS NULL AND expires_at > UTC_TIMESTAMP(3)
      """
    ],
    accountData: [.attestedKeys])
}

extension AccountData {
  fileprivate static let attestedKeys = AccountData(
    "attestedKeys", [.text("device"), .text("app"), .text("environment"), .time("attestedAt")],
    """
    SELECT k.device_id, d.name, k.app_id, k.environment, k.attested_at
    FROM devices d JOIN attestation_keys k ON k.device_id = d.id WHERE d.account_id = ? LIMIT ?
    """)
}

extension Limit {
  package static let attestationChallenges = Limit(
    name: "attestation-challenge", allowed: 60, window: .seconds(60), counts: "challenges",
    per: "IP address")
  package static let attestationRefusals = Limit(
    name: "attestation-refused", allowed: 600, window: .seconds(3600), counts: "refused proofs",
    per: "IP address, or device that is signed in")
}

extension AuditEvent {
  static let attestationRefused = AuditEvent.refusal("attestation_refused")
  static let keyAttested = AuditEvent("key_attested")
  static let keyBound = AuditEvent("key_bound")
  static let writeRefused = AuditEvent.refusal("write_refused")
}

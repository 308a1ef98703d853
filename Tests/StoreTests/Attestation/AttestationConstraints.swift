/// Cases for the tables of attestation.
extension ConstraintTests {
  static let attestation: [Case] = [
    Case(
      "attestation_challenges.PRIMARY",
      """
      INSERT INTO attestation_challenges (id, challenge_hash, bundle_id, expires_at)
      SELECT id, challenge_hash, bundle_id, expires_at FROM attestation_challenges
      """),
    Case(
      "attestation_keys.PRIMARY",
      """
      INSERT INTO attestation_keys (id, public_key, app_id, environment, receipt, attested_at)
      SELECT id, public_key, app_id, environment, receipt, attested_at FROM attestation_keys
      """),
    Case(
      "attestation_keys.attestation_keys_device",
      "UPDATE attestation_keys SET device_id = '\(SampleRows.other)'"),
    Case(
      "attestation_keys.attestation_keys_public_key_form",
      "UPDATE attestation_keys SET public_key = REPEAT('p', 65)"),
    Case(
      "attestation_keys.attestation_keys_receipt_bounded",
      "UPDATE attestation_keys SET receipt = REPEAT('r', 16385)"),
    Case(
      "attestation_keys.attestation_keys_bound_whole",
      "UPDATE attestation_keys SET device_id = NULL"),
    Case(
      "attestation_keys.attestation_keys_bound_whole",
      "UPDATE attestation_keys SET bound_at = NULL"),
  ]
}

extension Room {
  static let preferences = Room(
    whenDeviceIsAdded: [
      """
      INSERT INTO device_preferences (device_id, last_updated_at) VALUES (?, ?)
      ON DUPLICATE KEY UPDATE device_id = device_id
      """
    ],
    whenDeviceSignsOut: [
      """
      UPDATE device_preferences SET push_token = NULL, last_updated_at = ?, version = version + 1,
        last_write_digest = NULL, last_write_base = NULL
      WHERE device_id = ? AND push_token IS NOT NULL
      """
    ],
    whenAccountIsHandedOver: [
      """
      UPDATE devices d JOIN device_preferences p ON p.device_id = d.id
      SET p.push_enabled = DEFAULT(p.push_enabled), p.push_token = NULL,
        p.preferred_models = DEFAULT(p.preferred_models),
        p.archive_cache_quota_mb = DEFAULT(p.archive_cache_quota_mb), p.version = 0,
        p.last_write_digest = NULL, p.last_write_base = NULL
      WHERE d.account_id = ?
      """
    ], accountData: [.preferences])
}

extension AccountData {
  fileprivate static let preferences = AccountData(
    "preferences",
    [
      .text("device"), .flag("pushEnabled"), .text("preferredModels"),
      .number("archiveCacheQuotaMB"), .number("version"), .time("lastUpdatedAt"),
    ],
    """
    SELECT p.device_id, d.name, p.push_enabled, p.preferred_models, p.archive_cache_quota_mb,
      p.version, p.last_updated_at
    FROM devices d JOIN device_preferences p ON p.device_id = d.id WHERE d.account_id = ? LIMIT ?
    """)
}

extension Limit {
  package static let preferencesWrites = Limit(
    name: "device-prefs", allowed: 30, window: .seconds(3600), counts: "writes", per: "device")
  package static let pushRegistrations = Limit(
    name: "push-register", allowed: 60, window: .seconds(3600), counts: "registrations",
    per: "device")
  package static let modelsReads = Limit(
    name: "models", allowed: 600, window: .seconds(3600), counts: "reads",
    per: "account, or IP address without a sign-in")
}

extension AuditEvent {
  static let modelsChanged = AuditEvent("models_changed")
  static let preferencesWritten = AuditEvent("preferences_written")
}

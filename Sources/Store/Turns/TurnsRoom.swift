extension Room {
  static let turns = Room(
    name: "Turns",
    retention: [
      Retention(.after(Retention.day * 30), "DELETE FROM api_keys WHERE revoked_at < ? LIMIT ?")
    ],
    whenTokenDies: ["DELETE FROM ogs_registrations WHERE device_token = ? AND registered_at < ?"],
    whenClockIsSetBack: [
      """
      UPDATE ogs_users FORCE INDEX (ogs_users_due) SET due_at = UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
      WHERE due_at > UTC_TIMESTAMP(3) + INTERVAL 2 MINUTE
      """,
      """
      UPDATE ogs_pause SET paused_until = UTC_TIMESTAMP(3) + INTERVAL 15 MINUTE
      WHERE id = 1 AND paused_until > UTC_TIMESTAMP(3) + INTERVAL 15 MINUTE
      """,
    ])
}

extension Limit {
  static let masterKeyTries = Limit(name: "master-key", allowed: 10, window: .seconds(60))
  static let turnRegistrations = Limit(name: "turns-register", allowed: 60, window: .seconds(3600))
  static let turnChecks = Limit(name: "turns-check", allowed: 20, window: .seconds(60))
}

extension AuditEvent {
  static let apiKeyIssued = AuditEvent("api_key_issued")
  static let apiKeyRevoked = AuditEvent("api_key_revoked")
  static let masterKeyRefused = AuditEvent.refusal("master_key_refused")
  static let turnsRegistered = AuditEvent("turns_registered")
  static let turnsUnregistered = AuditEvent("turns_unregistered")
  static let turnUserDeleted = AuditEvent("turns_user_deleted")
}

extension Job.Kind {
  /// Polls online-go.com for one user at once.
  package static let turnCheck = Job.Kind("turn_check")
}

extension NewNotification.Kind {
  /// A player is told that it is their turn.
  static let turn = NewNotification.Kind("turn")
}

import MariaDB

/// At most `allowed` hits of one subject in `window`, which begins with the first hit.
struct Limit {
  let name: String
  let allowed: Int64
  let window: Duration

  static let preferencesWrites = Limit(name: "device-prefs", allowed: 30, window: .seconds(3600))
  static let pushRegistrations = Limit(name: "push-register", allowed: 60, window: .seconds(3600))
  static let modelsReads = Limit(name: "models", allowed: 600, window: .seconds(3600))
  static let attestationChallenges = Limit(
    name: "attestation-challenge", allowed: 60, window: .seconds(60))
  static let attestationRefusals = Limit(
    name: "attestation-refused", allowed: 600, window: .seconds(3600))
  static let deviceRegistrations = Limit(
    name: "device-register", allowed: 60, window: .seconds(3600))
  static let signUps = Limit(name: "sign-up", allowed: 60, window: .seconds(3600))
  static let codesByAddress = Limit(name: "code-address", allowed: 20, window: .seconds(3600))
  static let codesByEmail = Limit(name: "code-email", allowed: 10, window: .seconds(900))
  static let codesByDevice = Limit(name: "code-device", allowed: 3, window: .seconds(900))
  static let biometricChallenges = Limit(
    name: "biometric-challenge", allowed: 10, window: .seconds(60))
  static let biometricFailures = Limit(name: "biometric-failed", allowed: 5, window: .seconds(900))
  static let passkeyStarts = Limit(name: "passkey-start", allowed: 20, window: .seconds(60))
  static let passkeyRegistrations = Limit(
    name: "passkey-register", allowed: 60, window: .seconds(3600))
  static let enrollments = Limit(name: "enrollment", allowed: 30, window: .seconds(3600))
  static let rotations = Limit(name: "refresh", allowed: 30, window: .seconds(3600))
  static let masterKeyTries = Limit(name: "master-key", allowed: 10, window: .seconds(60))
  static let failedExchanges = Limit(name: "exchange-failed", allowed: 10, window: .seconds(60))
  static let turnRegistrations = Limit(name: "turns-register", allowed: 60, window: .seconds(3600))
  static let turnChecks = Limit(name: "turns-check", allowed: 20, window: .seconds(60))
  static let deadSignIns = Limit(name: "sign-in-dead", allowed: 600, window: .seconds(3600))
  static let deadRefreshes = Limit(name: "refresh-dead", allowed: 30, window: .seconds(60))
}

extension Connection {
  /// Counts one hit, exactly under concurrency: one statement counts and reads.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)`` over the limit. In a transaction, the refused
  ///   hit is rolled back with it.
  /// - Returns: the hits of the window, with this one.
  @discardableResult
  mutating func count(_ limit: Limit, of subject: String, at now: Timestamp) throws -> Int64 {
    let windowEnd = Parameter.dateTime(milliseconds: (now - limit.window).milliseconds)
    let (hits, startedAt) = try row(
      """
      INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
      VALUES (?, ?, ?, ?, 1, ?)
      ON DUPLICATE KEY UPDATE hits = IF(window_started_at <= ?, 1, hits + 1),
        window_started_at = IF(window_started_at <= ?, VALUES(window_started_at), window_started_at),
        window_seconds = VALUES(window_seconds), allowed = VALUES(allowed)
      RETURNING hits, window_started_at
      """,
      [
        .text(limit.name), .text(subject), .dateTime(milliseconds: now.milliseconds),
        .integer(limit.window.components.seconds), .integer(limit.allowed), windowEnd, windowEnd,
      ]
    ) { row in
      (row.integer(0), Timestamp(milliseconds: row.milliseconds(1)))
    }!  // the row that has just been counted
    if hits > limit.allowed {
      throw Refusal.rateLimited(retryAfter: max(.seconds(1), startedAt + limit.window - now))
    }
    return hits
  }
}

import Base
import Cryptography
import MariaDB

/// The preferences of devices as requests use them.
package struct DevicePreferences: Sendable {
  let records: Records

  /// The preferences of the caller's device.
  ///
  /// - Throws: ``Refusal``.
  package func find(of caller: Caller) throws -> Preferences {
    try records.read { transaction in try transaction.preferences.find(of: caller) }
  }

  /// The preferences of the callers' devices, in the order of the callers; for each, the result of ``find(of:)-(Caller)``.
  ///
  /// - Parameter callers: at most 32.
  package func find(of callers: [Caller]) throws -> [Result<Preferences, any Error>] {
    let rows = try records.read { transaction in try transaction.preferences.rows(of: callers) }
    return callers.map { caller in
      Result {
        guard let row = rows.first(where: { $0.sessionID == caller.sessionID }) else {
          throw Refusal.sessionEnded
        }
        // Needs further statements, whose failure must not be that of the other callers.
        if row.session.needsStatements(for: caller, at: records.now) {
          return try find(of: caller)
        }
        try row.session.checkBranch(of: caller)
        return row.preferences
      }
    }
  }

  /// Merges `change` into the preferences of the caller's device.
  ///
  /// A client that lost the answer may send the same change again. If the last write was this
  /// change on this `ifVersion`, the answer is the current object, and nothing is written.
  ///
  /// - Throws: ``Refusal``; ``RateLimited``.
  package func merge(
    _ change: PreferencesChange, by caller: Caller, facts: ClientFacts
  ) throws -> PreferencesOutcome {
    try records.repeatingLostRaces { transaction in
      let current = try transaction.preferences.lock(of: caller)
      var models = change.preferredModels.map { JSONWriter.array(of: $0) }
      // Apps often send all preferences again. Models that the row has may stay, so the catalog is not read for them.
      if let names = change.preferredModels, models != current.preferences.preferredModels {
        let catalogue = try transaction.models.catalogue()
        do {
          let canonical = try catalogue.canonical(names) { try current.preferences.modelNames() }
          models = JSONWriter.array(of: canonical)
        } catch let refusal as ModelsRefusal {
          return .refused(refusal)
        }
      }
      return try transaction.preferences.merge(
        change, models: models, into: current, by: caller, facts: facts)
    }
  }

  /// Sets the push token of the caller's device. The same token again changes no preferences.
  ///
  /// - Returns: the device's id.
  /// - Throws: ``Refusal``; ``RateLimited``.
  package func setPushToken(
    _ text: String, platform: DevicePlatform, by caller: Caller, facts: ClientFacts
  ) throws -> String {
    try records.repeatingLostRaces { transaction in
      let old = try transaction.preferences.lock(of: caller).preferences
      try transaction.limits.count(.pushRegistrations, of: old.deviceID)
      var new = old
      new.pushToken = text
      if new != old {
        new.version += 1
        new.lastUpdatedAt = records.now
        try transaction.preferences.replace(old, with: new, digest: nil, base: nil)
      }
      try transaction.preferences.moveToken(
        from: old, to: new, given: .set(text), platform: platform)
      try transaction.audit.write(
        .pushTokenSet, account: caller.accountID, device: old.deviceID, facts: facts)
      return old.deviceID
    }
  }
}

extension Records {
  package var preferences: DevicePreferences { DevicePreferences(records: self) }
}

/// Statements on `device_preferences`.
struct PreferencesStatements: ~Copyable {
  let transaction: Transaction

  /// - Throws: ``Refusal``.
  fileprivate func find(of caller: Caller) throws -> Preferences {
    try row(
      of: caller,
      """
      SELECT s.device_id, s.generation, s.confirmed, s.branch, s.first_branch, d.credential_hash,
        d.credential_expires_at, d.old_credential_hash, d.old_credential_expires_at, p.push_enabled,
        p.push_token, p.preferred_models, p.archive_cache_quota_mb, p.last_updated_at, p.version
      FROM sessions s
      JOIN devices d ON d.id = s.device_id
      JOIN device_preferences p ON p.device_id = d.id
      WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      """
    ) { row in Preferences(row: row, accountID: caller.accountID) }
  }

  /// Like ``find(of:)-(Caller)``, but session, device and preferences do not change before the transaction's end: no push token
  /// outlives its session. Call it first, so that all later reads see current rows.
  ///
  /// - Throws: ``Refusal``.
  fileprivate func lock(of caller: Caller) throws -> StoredPreferences {
    try row(
      of: caller,
      """
      SELECT s.device_id, s.generation, s.confirmed, s.branch, s.first_branch, d.credential_hash,
        d.credential_expires_at, d.old_credential_hash, d.old_credential_expires_at, p.push_enabled,
        p.push_token, p.preferred_models, p.archive_cache_quota_mb, p.last_updated_at, p.version, p.last_write_digest, p.last_write_base, d.platform
      FROM sessions s
      JOIN devices d ON d.id = s.device_id
      JOIN device_preferences p ON p.device_id = d.id
      WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      FOR UPDATE
      """
    ) { row in StoredPreferences(row: row, accountID: caller.accountID) }
  }

  private func row<T>(
    of caller: Caller, _ statement: StaticString, _ decode: (borrowing Row) -> T
  ) throws -> T {
    let found = try transaction.connection.row(
      statement, [.text(caller.sessionID), .time(transaction.now)]
    ) { row in (session: LiveSession(row: row), value: decode(row)) }
    guard let found else { throw Refusal.sessionEnded }
    try transaction.sessions.admit(caller, to: found.session)
    return found.value
  }

  /// The rows of up to 32 callers whose sessions are alive. The statement always has 32 keys, so that the server keeps one
  /// statement; the last key fills the rest. The server need not look into the index to estimate the rows of each key: there is
  /// one at most.
  fileprivate func rows(
    of callers: [Caller]
  ) throws(DatabaseError) -> [(sessionID: String, session: LiveSession, preferences: Preferences)] {
    let keys = (0..<32).map { Parameter.text(callers[min($0, callers.count - 1)].sessionID) }
    return try transaction.connection.rows(
      """
      SET STATEMENT eq_range_index_dive_limit = 1 FOR
      SELECT s.device_id, s.generation, s.confirmed, s.branch, s.first_branch, d.credential_hash,
        d.credential_expires_at, d.old_credential_hash, d.old_credential_expires_at, p.push_enabled,
        p.push_token, p.preferred_models, p.archive_cache_quota_mb, p.last_updated_at, p.version, s.id
      FROM sessions s
      JOIN devices d ON d.id = s.device_id
      JOIN device_preferences p ON p.device_id = d.id
      WHERE s.id IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      """, keys + [.time(transaction.now)]
    ) { row in
      let sessionID = row.text(15)
      let accountID = callers.first { $0.sessionID == sessionID }?.accountID ?? ""
      return (sessionID, LiveSession(row: row), Preferences(row: row, accountID: accountID))
    }
  }

  /// - Parameter models: the models of `change`, as they are stored.
  /// - Throws: ``LostRace``; ``RateLimited``.
  fileprivate func merge(
    _ change: PreferencesChange, models: [UInt8]?, into current: StoredPreferences,
    by caller: Caller, facts: ClientFacts
  ) throws -> PreferencesOutcome {
    let old = current.preferences
    // A change that names no version is never taken for a repetition.
    let digest = change.ifVersion.map { _ in sha256(change.canonical(models: models)) }
    if let base = change.ifVersion {
      if base == current.lastWriteBase, digest == current.lastWriteDigest { return .stored(old) }
      if base != old.version { return .conflict(old) }
    }
    var new = change.applied(to: old, models: models)
    new.version = old.version + 1
    new.lastUpdatedAt = transaction.now
    try replace(old, with: new, digest: digest, base: change.ifVersion)
    // After the race: the loser is not counted.
    try transaction.limits.count(.preferencesWrites, of: old.deviceID)
    try moveToken(from: old, to: new, given: change.pushToken, platform: current.platform)
    try transaction.audit.write(
      .preferencesWritten, account: caller.accountID, device: old.deviceID,
      detail: "version \(new.version)", facts: facts)
    return .stored(new)
  }

  /// Writes `new` if the row is still at `old`'s version. Call ``lock(of:)`` before.
  ///
  /// - Throws: ``LostRace``.
  fileprivate func replace(
    _ old: Preferences, with new: Preferences, digest: [UInt8]?, base: Int64?
  ) throws {
    let changed = try transaction.connection.execute(
      """
      UPDATE device_preferences
      SET push_enabled = ?, push_token = ?, preferred_models = ?, archive_cache_quota_mb = ?,
        last_updated_at = ?, last_write_digest = ?, last_write_base = ?, version = version + 1
      WHERE device_id = ? AND version = ?
      """,
      [
        .integer(new.push.rawValue), .text(new.pushToken), .bytes(new.preferredModels),
        .integer(new.archiveCacheQuota), .time(new.lastUpdatedAt),
        digest.map { .bytes($0) } ?? .null, .integer(base),
        .text(new.deviceID), .integer(old.version),
      ])
    guard changed == 1 else { throw LostRace() }
  }

  /// Keeps the push-token row in step with the preferences.
  fileprivate func moveToken(
    from old: Preferences, to new: Preferences, given change: PreferencesChange.PushTokenChange,
    platform: DevicePlatform
  ) throws(DatabaseError) {
    if let token = old.pushToken, token != new.pushToken {
      try transaction.pushTokens.remove(token, of: old.deviceID)
    }
    if case .set(let text) = change, let token = PushToken(text), !token.isOfBrowser {
      try transaction.pushTokens.store(
        token, platform: PushPlatform(platform), of: new.deviceID)
    }
  }
}

extension Transaction {
  var preferences: PreferencesStatements {
    PreferencesStatements(transaction: Transaction(sharing: self))
  }
}

extension Preferences {
  /// The columns device_id, of device_preferences from push_enabled to version: 0, and 9 to 14.
  fileprivate init(row: borrowing Row, accountID: String) {
    let version = row.integer(14)
    self.init(
      push: version == 0 ? .unnamed : Push(rawValue: row.integer(9)) ?? .on,
      pushToken: row.optionalText(10), preferredModels: row.bytes(11),
      archiveCacheQuota: row.integer(12), lastUpdatedAt: row.timestamp(13), deviceID: row.text(0),
      accountID: accountID, version: version)
  }
}

/// The row, with the digest and the base of its last write.
private struct StoredPreferences {
  let preferences: Preferences
  let lastWriteDigest: [UInt8]?
  let lastWriteBase: Int64?
  let platform: DevicePlatform

  init(row: borrowing Row, accountID: String) {
    preferences = Preferences(row: row, accountID: accountID)
    lastWriteDigest = row.isNull(15) ? nil : row.bytes(15)
    lastWriteBase = row.isNull(16) ? nil : row.integer(16)
    platform = DevicePlatform(row: row, 17)
  }
}

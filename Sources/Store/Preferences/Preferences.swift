package import Base
import Cryptography
import MariaDB

/// The preferences of one account on one device, as the apps read them.
package struct Preferences: Sendable, Equatable {
  package var pushEnabled: Bool
  package var pushToken: String?
  /// JSON array of model names, as stored.
  package var preferredModels: [UInt8]
  /// MiB, 128 to 4096.
  package var archiveCacheQuota: Int64
  /// The time of the last write; before any, of the device's registration.
  package var lastUpdatedAt: Timestamp
  package let deviceID: String
  package let accountID: String
  /// 0 before any write.
  package var version: Int64
}

/// What one `POST /api/v1/device-prefs` changes: nil keeps the value.
package struct PreferencesChange: Sendable {
  package var pushEnabled: Bool?
  package var pushToken: PushTokenChange = .keep
  package var preferredModels: [String]?
  /// MiB; clamped to 128…4096.
  package var archiveCacheQuota: Int64?
  /// The version that the change was made on; nil merges into any.
  package var ifVersion: Int64?

  package enum PushTokenChange: Sendable, Equatable {
    case keep, clear
    case set(String)
  }

  package init() {}
}

/// Why a list of models was refused.
package struct ModelsRefused: Error, Equatable {
  package enum Reason: String, Sendable {
    case empty = "empty_model"
    case unknown = "unknown_model"
    case tooLong = "model_too_long"
    case tooMany = "too_many_models"
  }
  package let reason: Reason
  /// The name at fault; nil where it is their number.
  package let value: String?
}

package enum PreferencesOutcome: Sendable {
  case stored(Preferences)
  /// The change was made on another version than the current one.
  case conflict(Preferences)
}

extension Database {
  /// The preferences of the caller's device.
  ///
  /// - Throws: ``Refusal/sessionEnded``, ``Refusal/credential(account:device:)``.
  package func preferences(of caller: Caller, at now: Timestamp) throws -> Preferences {
    try pool.read { connection in try connection.preferences(of: caller, at: now) }
  }

  /// Merges `change` into the preferences of the caller's device.
  ///
  /// A change that was already the last one made on its `ifVersion` is answered with the current
  /// object and writes nothing, so that a lost answer can be asked for again.
  ///
  /// - Throws: ``Refusal``; ``ModelsRefused``.
  package func merge(
    _ change: PreferencesChange, by caller: Caller, facts: ClientFacts, at now: Timestamp
  ) throws -> PreferencesOutcome {
    while true {
      do {
        return try pool.transaction { connection in
          try connection.merge(change, by: caller, facts: facts, at: now)
        }
      } catch is LostRace {
        continue
      }
    }
  }
}

/// Somebody else changed the row between our reading and our conditional write: all is done again.
struct LostRace: Error {}

extension Connection {
  func preferences(of caller: Caller, at now: Timestamp) throws -> Preferences {
    try written(of: caller, at: now).preferences
  }

  fileprivate func written(of caller: Caller, at now: Timestamp) throws -> Written {
    let found = try row(
      """
      SELECT s.device_id, s.generation, s.confirmed, d.credential_hash, d.credential_expires_at,
        p.push_enabled, p.push_token, p.preferred_models, p.archive_cache_quota_mb,
        p.last_updated_at, p.version, p.last_write_digest, p.last_write_base, d.platform
      FROM sessions s
      JOIN devices d ON d.id = s.device_id
      JOIN device_preferences p ON p.device_id = d.id
      WHERE s.id = ? AND s.ended_at IS NULL AND s.expires_at > ? AND d.revoked_at IS NULL
      """,
      [.text(caller.sessionID), .time(now)]
    ) { row in
      (session: LiveSession(row: row), written: Written(row: row, accountID: caller.accountID))
    }
    guard let found else { throw Refusal.sessionEnded }
    try admit(caller, to: found.session, at: now)
    return found.written
  }

  fileprivate func merge(
    _ change: PreferencesChange, by caller: Caller, facts: ClientFacts, at now: Timestamp
  ) throws -> PreferencesOutcome {
    let current = try written(of: caller, at: now)
    let old = current.preferences
    var new = try old.merged(
      with: change, models: change.preferredModels.map { try canonicalModels($0) })
    let digest = change.digest(models: new.preferredModels)
    if change.ifVersion != nil, change.ifVersion == current.lastWriteBase,
      digest == current.lastWriteDigest
    {
      return .stored(old)
    }
    if let base = change.ifVersion, base != old.version { return .conflict(old) }
    new.version = old.version + 1
    new.lastUpdatedAt = now
    try replace(old, with: new, digest: digest, base: change.ifVersion, by: caller)
    // After the race: who has lost it is not counted.
    try count(.preferencesWrites, of: old.deviceID, at: now)
    try move(from: old, to: new, given: change.pushToken, platform: current.platform, at: now)
    try audit(
      .preferencesWritten, account: caller.accountID, device: old.deviceID,
      detail: "version \(new.version)", facts: facts, from: caller.origin, at: now)
    return .stored(new)
  }

  /// Writes `new` if the row is still at `old`'s version and the session alive, which it then is until
  /// the transaction's end: no push token outlives it.
  fileprivate func replace(
    _ old: Preferences, with new: Preferences, digest: [UInt8]?, base: Int64?, by caller: Caller
  ) throws {
    let changed = try execute(
      """
      UPDATE device_preferences p
      JOIN devices d ON d.id = p.device_id
      JOIN sessions s ON s.device_id = d.id
      SET p.push_enabled = ?, p.push_token = ?, p.preferred_models = ?, p.archive_cache_quota_mb = ?,
        p.last_updated_at = ?, p.last_write_digest = ?, p.last_write_base = ?, p.version = p.version + 1
      WHERE p.device_id = ? AND p.version = ? AND d.revoked_at IS NULL AND s.id = ? AND s.ended_at IS NULL
      """,
      [
        .boolean(new.pushEnabled), .text(new.pushToken), .bytes(new.preferredModels),
        .integer(new.archiveCacheQuota), .time(new.lastUpdatedAt),
        digest.map { .bytes($0) } ?? .null, base.map { .integer($0) } ?? .null,
        .text(new.deviceID), .integer(old.version), .text(caller.sessionID),
      ])
    guard changed == 1 else { throw LostRace() }
  }

  /// Keeps the push-token row in step with the preferences.
  fileprivate func move(
    from old: Preferences, to new: Preferences, given change: PreferencesChange.PushTokenChange,
    platform: DevicePlatform, at now: Timestamp
  ) throws {
    if let token = old.pushToken, token != new.pushToken {
      try removePushToken(token, of: old.deviceID)
    }
    if case .set(let text) = change, let token = PushToken(text) {
      try store(token, platform: platform, of: new.deviceID, at: now)
    }
  }

  /// `names` in the catalogue's spelling, each once, as a JSON array; any names while the catalogue
  /// is empty.
  private func canonicalModels(_ names: [String]) throws -> [UInt8] {
    let catalogue = try models()
    var spelling: [String: String] = [:]
    for model in catalogue { spelling[model.lowercased()] = model }
    var seen: Set<String> = []
    var canonical: [String] = []
    for name in names {
      let name = name.trimmed
      let folded = name.lowercased()
      guard !name.isEmpty else { throw ModelsRefused(reason: .empty, value: name) }
      guard name.unicodeScalars.count <= 128 else {
        throw ModelsRefused(reason: .tooLong, value: nil)
      }
      guard catalogue.isEmpty || spelling[folded] != nil else {
        throw ModelsRefused(reason: .unknown, value: name)
      }
      if seen.insert(folded).inserted { canonical.append(spelling[folded] ?? name) }
    }
    guard canonical.count <= 16 else { throw ModelsRefused(reason: .tooMany, value: nil) }
    return JSONWriter.array(of: canonical)
  }
}

/// The row as it is, with what it remembers of its last write.
private struct Written {
  let preferences: Preferences
  let lastWriteDigest: [UInt8]?
  let lastWriteBase: Int64?
  let platform: DevicePlatform

  init(row: borrowing Row, accountID: String) {
    preferences = Preferences(
      pushEnabled: row.boolean(5), pushToken: row.optionalText(6), preferredModels: row.bytes(7),
      archiveCacheQuota: row.integer(8),
      lastUpdatedAt: Timestamp(milliseconds: row.milliseconds(9)),
      deviceID: row.text(0), accountID: accountID, version: row.integer(10))
    lastWriteDigest = row.isNull(11) ? nil : row.bytes(11)
    lastWriteBase = row.isNull(12) ? nil : row.integer(12)
    platform = DevicePlatform(row: row, 13)
  }
}

extension Preferences {
  fileprivate func merged(with change: PreferencesChange, models: [UInt8]?) -> Preferences {
    var new = self
    if let pushEnabled = change.pushEnabled { new.pushEnabled = pushEnabled }
    switch change.pushToken {
    case .keep: break
    case .clear: new.pushToken = nil
    case .set(let token): new.pushToken = token
    }
    if let models { new.preferredModels = models }
    if let quota = change.archiveCacheQuota {
      new.archiveCacheQuota = min(max(quota, 128), 4096)
    }
    return new
  }
}

extension PreferencesChange {
  /// SHA-256 of what the change says, in canonical form. nil where it names no version: it is then
  /// never taken for a repetition.
  fileprivate func digest(models: [UInt8]) -> [UInt8]? {
    guard ifVersion != nil else { return nil }
    let canonical = JSONWriter.object { json in
      if let pushEnabled { json.member("push_enabled", pushEnabled) }
      switch pushToken {
      case .keep: break
      case .clear: json.member("push_token", nil)
      case .set(let token): json.member("push_token", token)
      }
      if preferredModels != nil { json.member("preferred_models", json: models) }
      if let archiveCacheQuota {
        json.member("archive_cache_quota_mb", min(max(archiveCacheQuota, 128), 4096))
      }
    }
    return sha256(canonical)
  }
}

extension Database {
  /// The catalogue of models, in its order. Counted for the account, or else the address.
  ///
  /// - Throws: ``Refusal/rateLimited(retryAfter:)``.
  package func models(readBy reader: String, at now: Timestamp) throws -> [String] {
    try pool.transaction { connection in
      try connection.count(.modelsReads, of: reader, at: now)
      return try connection.models()
    }
  }

  /// Sets the push token of the caller's device outside of the Settings; the same token again
  /// changes no preferences.
  ///
  /// - Returns: the device's id.
  /// - Throws: ``Refusal``.
  package func registerPushToken(
    _ text: String, platform: DevicePlatform, by caller: Caller, facts: ClientFacts,
    at now: Timestamp
  ) throws -> String {
    while true {
      do {
        return try pool.transaction { connection in
          try connection.hold(caller)
          let old = try connection.preferences(of: caller, at: now)
          try connection.count(.pushRegistrations, of: old.deviceID, at: now)
          var new = old
          new.pushToken = text
          if new != old {
            new.version += 1
            new.lastUpdatedAt = now
            try connection.replace(old, with: new, digest: nil, base: nil, by: caller)
          }
          try connection.move(
            from: old, to: new, given: .set(text), platform: platform, at: now)
          try connection.audit(
            .pushTokenSet, account: caller.accountID, device: old.deviceID, facts: facts,
            from: caller.origin, at: now)
          return old.deviceID
        }
      } catch is LostRace {
        continue
      }
    }
  }
}

extension Connection {
  fileprivate func models() throws(DatabaseError) -> [String] {
    try rows("SELECT name FROM models ORDER BY position, name") { row in row.text(0) }
  }
}

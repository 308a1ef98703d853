package import Base

/// The preferences of one account on one device, as the apps read them.
package struct Preferences: Sendable, Equatable {
  /// Whether notifications are sent to the device, as `push_enabled` stores it: anything but 0 sends.
  package enum Push: Int64, Sendable {
    case off = 0
    case on = 1
    /// No write has named `push_enabled`. The apps read false, which is its default.
    case unnamed = 2
  }

  package var push: Push
  package var pushToken: String?
  /// JSON array of model names, as stored.
  package var preferredModels: [UInt8]
  /// MiB, 128 to 4096.
  package var archiveCacheQuota: Int64
  /// The time of the last write; before the first write, the time of the device's registration.
  package var lastUpdatedAt: Timestamp
  package let deviceID: String
  package let accountID: String
  /// 0 before any write.
  package var version: Int64

  /// ``preferredModels`` as text.
  ///
  /// - Throws: `JSONReader.Failure` if the row was written by hand.
  func modelNames() throws -> [String] {
    var names: [String] = []
    var reader = JSONReader(preferredModels)
    try reader.array { name in names.append(try name.string()) }
    return names
  }
}

/// The changes of one `POST /api/v1/device-prefs`: nil keeps the value.
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

/// The result of a ``PreferencesChange``.
package enum PreferencesOutcome: Sendable {
  case stored(Preferences)
  /// The change was made on another version than the current one.
  case conflict(Preferences)
  case refused(ModelsRefusal)
}

extension PreferencesChange {
  private var clampedQuota: Int64? { archiveCacheQuota.map { min(max($0, 128), 4096) } }

  /// `old` with the change, at the same version.
  ///
  /// - Parameter models: ``preferredModels`` as they are stored.
  func applied(to old: Preferences, models: [UInt8]?) -> Preferences {
    var new = old
    if let pushEnabled { new.push = pushEnabled ? .on : .off }
    switch pushToken {
    case .keep: break
    case .clear: new.pushToken = nil
    case .set(let token): new.pushToken = token
    }
    if let models { new.preferredModels = models }
    if let clampedQuota { new.archiveCacheQuota = clampedQuota }
    return new
  }

  /// The change in canonical form, as JSON.
  func canonical(models: [UInt8]?) -> [UInt8] {
    JSONWriter.object { json in
      if let pushEnabled { json.member("push_enabled", pushEnabled) }
      switch pushToken {
      case .keep: break
      case .clear: json.member("push_token", nil)
      case .set(let token): json.member("push_token", token)
      }
      if let models { json.member("preferred_models", json: models) }
      if let clampedQuota { json.member("archive_cache_quota_mb", clampedQuota) }
    }
  }
}

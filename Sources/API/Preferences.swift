import Cryptography
import FastCGI
import Store

/// `GET /api/v1/device-prefs`: the preferences of the signed-in device.
func getPreferences(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let preferences = try context.database.preferences(of: caller, at: context.now)
  return .json { json in json.members(of: preferences) }
}

/// `POST /api/v1/device-prefs`: merges the body into the preferences of the signed-in device.
///
/// - Throws: ``Failure/validation(field:reason:value:)``. 409 carries the current object with an
///   `error` member.
func postPreferences(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let change = try request.decode(PreferencesChange.self)
  let outcome = try context.database.merge(
    change, by: caller, facts: request.clientFacts, at: context.now)
  switch outcome {
  case .stored(let preferences):
    return .json { json in json.members(of: preferences) }
  case .conflict(let current):
    let conflict = Failure.conflict("The preferences have changed since the version in if_version")
    return .json(409) { json in
      json.members(of: current)
      json.member("error", object: { $0.error("conflict", conflict) })
    }
  }
}

/// `GET /api/v1/models`: the catalogue, for a day in any cache.
func getModels(_ request: Request, in context: borrowing Context) throws -> Response {
  let reader = context.account(of: request) ?? context.origin.address
  let models = try context.database.models(readBy: reader, at: context.now)
  var response = Response.json { json in
    json.member("models") { array in
      for model in models { array.string(model) }
    }
  }
  let tag = "\"\(hexEncoded(Array(sha256(response.body).prefix(16))))\""
  if request.accepts(entityTag: tag) { response = Response(status: 304, fields: [], body: []) }
  response.fields += [("ETag", tag), ("Cache-Control", "public, max-age=86400")]
  return response
}

/// `POST /api/v1/push/register`: sets the push token of the signed-in device.
///
/// - Throws: ``Failure/validation(field:reason:value:)``.
func registerPushToken(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let platform: DevicePlatform
    let token: String
  }
  let caller = try context.authenticate(request)
  let body = try request.decode(Body.self)
  try PreferencesChange.check(pushToken: body.token, field: "token")
  guard body.platform != .android else {
    throw Failure.validation(field: "platform", reason: "unknown_platform", value: "android")
  }
  let deviceID = try context.database.registerPushToken(
    body.token, platform: body.platform, by: caller, facts: request.clientFacts, at: context.now)
  return .json { json in
    json.member("device_id", deviceID)
    json.member("registered_at", context.now.rfc3339)
  }
}

extension PreferencesChange: Decodable {
  private enum Key: String, CodingKey {
    case pushEnabled = "push_enabled"
    case pushToken = "push_token"
    case preferredModels = "preferred_models"
    case quota = "archive_cache_quota_mb"
    case ifVersion = "if_version"
  }

  /// An absent member keeps its value; null clears the push token, says nothing for `if_version`,
  /// and is refused elsewhere.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    func given<Value: Decodable>(_ key: Key, _ type: Value.Type) throws -> Value? {
      guard container.contains(key) else { return nil }
      guard try !container.decodeNil(forKey: key) else {
        throw Failure.validation(field: key.rawValue, reason: "must_not_be_null")
      }
      return try container.decode(type, forKey: key)
    }
    self.init()
    pushEnabled = try given(.pushEnabled, Bool.self)
    preferredModels = try given(.preferredModels, [String].self)
    archiveCacheQuota = try given(.quota, WholeNumber.self)?.value
    ifVersion = try container.decodeIfPresent(WholeNumber.self, forKey: .ifVersion)?.value
    if container.contains(.pushToken) {
      if try container.decodeNil(forKey: .pushToken) {
        pushToken = .clear
      } else {
        let token = try container.decode(String.self, forKey: .pushToken)
        try Self.check(pushToken: token, field: Key.pushToken.rawValue)
        pushToken = .set(token)
      }
    }
  }

  /// - Throws: ``Failure/validation(field:reason:value:)`` unless `token` is of 1 to 512
  ///   characters.
  static func check(pushToken token: String, field: String) throws {
    guard (1...512).contains(token.unicodeScalars.count) else {
      throw Failure.validation(field: field, reason: token.isEmpty ? "empty" : "too_long")
    }
  }
}

extension JSONWriter {
  fileprivate mutating func members(of preferences: Preferences) {
    member("push_enabled", preferences.pushEnabled)
    member("push_token", preferences.pushToken)
    member("preferred_models", json: preferences.preferredModels)
    member("archive_cache_quota_mb", preferences.archiveCacheQuota)
    member("last_updated_at", preferences.lastUpdatedAt.rfc3339)
    member("device_id", preferences.deviceID)
    member("user_id", preferences.accountID)
    member("version", preferences.version)
  }

  fileprivate mutating func member(
    _ name: StaticString, _ elements: (inout JSONWriter) -> Void
  ) {
    member(name, array: elements)
  }
}

extension Request {
  /// What the app says of itself (`X-iOS-…` on devices and simulators, `X-App-…` on the Mac).
  fileprivate var clientFacts: ClientFacts {
    if let bundleID = field("X-iOS-App-Bundle-ID") {
      let asserts = field("X-iOS-App-Attest-Assertion") != nil
      return ClientFacts(
        platform: "iOS", bundleID: bundleID, appVersion: field("X-iOS-App-Version"),
        attestation: asserts ? .unverified : .none)
    }
    if field("X-iOS-Development") == "simulator" {
      return ClientFacts(
        platform: "iOS simulator", bundleID: field("X-iOS-Bundle-ID"),
        appVersion: field("X-iOS-App-Version"), attestation: .stub)
    }
    if let platform = field("X-Platform") {
      return ClientFacts(
        platform: platform, bundleID: field("X-App-Bundle-ID"),
        appVersion: field("X-App-Version"), attestation: .stub)
    }
    return ClientFacts(platform: nil, bundleID: nil, appVersion: nil, attestation: .none)
  }

  /// Whether `If-None-Match` names `tag` or `*` (RFC 9110 §13.1.2).
  fileprivate func accepts(entityTag tag: String) -> Bool {
    fieldValues("If-None-Match").contains { value in
      value.split(separator: ",").contains { candidate in
        let candidate = String(candidate).trimmed
        return candidate == "*" || candidate == tag || candidate == "W/" + tag
      }
    }
  }
}

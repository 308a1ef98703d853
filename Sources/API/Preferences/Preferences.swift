import Base
import Cryptography
import HTTP
import Store

/// `GET /api/v1/device-prefs`: the preferences of the signed-in device.
func getPreferences(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  try context.bindKey(of: request, to: caller)
  let preferences = try context.database.preferences(of: caller, at: context.now)
  return .json { json in json.members(of: preferences) }
}

/// `POST /api/v1/device-prefs`: merges the body into the preferences of the signed-in device.
///
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Refusal/attestation(_:)``. 409 carries the
///   current object with an `error` member.
func postPreferences(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let facts = try context.judge(request, by: caller)
  let change = try PreferencesChange(json: request.body)
  let outcome = try context.database.merge(change, by: caller, facts: facts, at: context.now)
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
/// - Throws: ``Failure/validation(field:reason:value:)``; ``Refusal/attestation(_:)``.
func registerPushToken(_ request: Request, in context: borrowing Context) throws -> Response {
  struct Body: Decodable {
    let platform: DevicePlatform
    let token: String
  }
  let caller = try context.authenticate(request)
  let facts = try context.judge(request, by: caller)
  let body = try request.decode(Body.self)
  let token = try PreferencesChange.opaqueToken(body.token, field: "token")
  guard body.platform != .android else {
    throw Failure.validation(field: "platform", reason: "unknown_platform", value: "android")
  }
  let deviceID = try context.database.registerPushToken(
    token, platform: body.platform, by: caller, facts: facts, at: context.now)
  return .json { json in
    json.member("device_id", deviceID)
    json.member("registered_at", context.now.rfc3339)
  }
}

extension PreferencesChange {
  /// An absent member keeps its value; null clears the push token, says nothing for `if_version`,
  /// and is refused elsewhere.
  ///
  /// - Throws: ``Failure/validation(field:reason:value:)``; ``Failure/invalidJSON``.
  init(json: [UInt8]) throws {
    self.init()
    var reader = JSONReader(json)
    try Self.reading("") {
      if try reader.null() { throw Failure.validation(field: "", reason: "must_not_be_null") }
      try reader.object { name, value in
        try Self.reading(name) { try self.read(name, from: &value) }
      }
      try reader.end()
    }
  }

  private mutating func read(_ name: String, from value: inout JSONReader) throws {
    func refuseNull() throws {
      if try value.null() { throw Failure.validation(field: name, reason: "must_not_be_null") }
    }
    switch name {
    case "push_enabled":
      try refuseNull()
      pushEnabled = try value.boolean()
    case "push_token":
      pushToken =
        try value.null() ? .clear : .set(Self.opaqueToken(value.string(), field: name))
    case "preferred_models":
      try refuseNull()
      var models: [String] = []
      try value.array { element in models.append(try element.string()) }
      preferredModels = models
    case "archive_cache_quota_mb":
      try refuseNull()
      archiveCacheQuota = try Self.wholeNumber(value.number(), field: name)
    case "if_version":
      ifVersion = try value.null() ? nil : Self.wholeNumber(value.number(), field: name)
    default: try value.skip()
    }
  }

  /// What `read` reads, with the reader's failures said of the member `name`.
  private static func reading(_ name: String, _ read: () throws -> Void) throws {
    do {
      try read()
    } catch JSONReader.Failure.wrongType {
      throw Failure.validation(field: name, reason: "wrong_type")
    } catch JSONReader.Failure.malformed {
      throw Failure.invalidJSON
    }
  }

  /// A number that is an integer in value: `1.0` is one. What fits no 64 bits is the nearest that
  /// does.
  private static func wholeNumber(_ digits: ArraySlice<UInt8>, field: String) throws -> Int64 {
    let text = String(decoding: digits, as: UTF8.self)
    if let value = Int64(text) { return value }
    guard let number = Double(text), number.rounded() == number else {
      throw Failure.validation(field: field, reason: "must_be_an_integer")
    }
    return Int64(exactly: number) ?? (number < 0 ? .min : .max)
  }

  /// - Throws: ``Failure/validation(field:reason:value:)`` unless `token` is of 1 to 512
  ///   characters.
  static func opaqueToken(_ token: String, field: String) throws -> String {
    guard (1...512).contains(token.unicodeScalars.count) else {
      throw Failure.validation(field: field, reason: token.isEmpty ? "empty" : "too_long")
    }
    return token
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

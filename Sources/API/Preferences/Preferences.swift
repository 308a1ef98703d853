import Base
import HTTP
import Store

/// `GET /api/v1/device-prefs`: returns the preferences of the signed-in device.
func getPreferences(
  _ request: Request, in context: borrowing Context, noting proof: AppProof
) throws -> Response {
  let caller = try readerOfPreferences(request, in: context, noting: proof)
  return preferencesAnswer(try context.records.preferences.find(of: caller))
}

private func readerOfPreferences(
  _ request: Request, in context: borrowing Context, noting proof: AppProof
) throws -> Caller {
  let caller = try context.authenticate(request)
  try proof.noteRead(request, caller, context)
  return caller
}

private func preferencesAnswer(_ preferences: Preferences) -> Response {
  .json { json in json.members(of: preferences) }
}

/// `POST /api/v1/device-prefs`: merges the body into the preferences of the signed-in device.
///
/// - Throws: ``Failure/validation``; errors of `proof`. The answer 409 has the
///   current object with an `error` member.
func postPreferences(
  _ request: Request, in context: borrowing Context, checking proof: AppProof
) throws -> Response {
  let caller = try context.authenticate(request)
  let facts = try proof.checkWrite(request, caller, context)
  let change = try PreferencesChange(json: request.body)
  switch try context.records.preferences.merge(change, by: caller, facts: facts) {
  case .stored(let preferences):
    return .json { json in json.members(of: preferences) }
  case .conflict(let current):
    let conflict = Failure.conflict("The preferences have changed since the version in if_version")
    return .json(409) { json in
      json.members(of: current)
      json.member("error", object: { $0.errorMembers("conflict", conflict) })
    }
  case .refused(let models):
    throw Failure.validation(
      field: "preferred_models", reason: models.reason.rawValue, value: models.value,
      sentence: { _ in models.sentence })
  }
}

/// `POST /api/v1/push/register`: sets the push token of the signed-in device.
///
/// - Throws: ``Failure/validation``; errors of `proof`.
func registerPushToken(
  _ request: Request, in context: borrowing Context, checking proof: AppProof
) throws -> Response {
  let caller = try context.authenticate(request)
  let facts = try proof.checkWrite(request, caller, context)
  let body = try request.decode(PushTokenBody.self)
  let token = try PreferencesChange.opaqueToken(body.token, field: "token")
  guard body.platform != .android else {
    throw Failure.validation(field: "platform", reason: "unknown_platform", value: "android")
  }
  let deviceID = try context.records.preferences.setPushToken(
    token, platform: body.platform, by: caller, facts: facts)
  return .json { json in
    json.member("device_id", deviceID)
    json.member("registered_at", context.now.rfc3339)
  }
}

private struct PushTokenBody: Decodable {
  let platform: DevicePlatform
  let token: String
}

extension JSONWriter {
  fileprivate mutating func members(of preferences: Preferences) {
    member("push_enabled", preferences.push == .on)
    member("push_token", preferences.pushToken)
    member("preferred_models", json: preferences.preferredModels)
    member("archive_cache_quota_mb", preferences.archiveCacheQuota)
    member("last_updated_at", preferences.lastUpdatedAt.rfc3339)
    member("device_id", preferences.deviceID)
    member("user_id", preferences.accountID)
    member("version", preferences.version)
  }
}

extension Endpoint {
  static func getPreferences(noting proof: AppProof) -> Endpoint {
    let handler: Handler = { try API.getPreferences($0, in: $1, noting: proof) }
    let grouped = GroupedRead(
      key: { try readerOfPreferences($0, in: $1, noting: proof) },
      find: { try $0.preferences.find(of: $1) }, answer: preferencesAnswer)
    return Endpoint(handler, grouped: grouped) {
      Operation(
        "Returns the preferences of the signed-in device.", .bearer, fields: proof.fields(),
        answers: .json(.preferences))
    }
  }

  static func postPreferences(checking proof: AppProof) -> Endpoint {
    let handler: Handler = { try API.postPreferences($0, in: $1, checking: proof) }
    return Endpoint(handler) {
      Operation(
        """
        Changes the preferences that the body names. With `if_version`, only if they still have this version: otherwise the answer \
        is 409 with the current preferences.
        """, .bearer, fields: proof.fields(), body: .json(PreferencesChange.schema),
        answers: .json(.preferences),
        .json(
          409, .preferences.merging(["error": ["code": .words(["conflict"]), "message": .string]]),
          meaning: "They have another version now."),
        errors: proof.errors(), limits: [.preferencesWrites] + proof.limits)
    }
  }

  static func registerPushToken(checking proof: AppProof) -> Endpoint {
    let handler: Handler = { try API.registerPushToken($0, in: $1, checking: proof) }
    return Endpoint(handler) {
      Operation(
        "Sets the push token of the signed-in device.", .bearer, fields: proof.fields(),
        body: .json(PushTokenBody.self),
        answers: .json(["device_id": .string, "registered_at": .time]), errors: proof.errors(),
        limits: [.pushRegistrations] + proof.limits)
    }
  }
}

extension Schema {
  fileprivate static let preferences: Schema =
    ([
      "push_enabled": .boolean, "push_token": .string.orNull,
      "preferred_models": .array(of: .string), "archive_cache_quota_mb": .integer,
      "last_updated_at": .time, "device_id": .string, "user_id": .uuid, "version": .integer,
    ] as Schema).named("Preferences")
}

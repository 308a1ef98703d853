import Base
import HTTP
import Store

/// `POST /api/push/register`: adds a push token to those of the signed-in device, whoever had it
/// before.
///
/// - Throws: ``Failure/badRequest(_:)``.
func addPushToken(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticateByName(request)
  let body = try context.pushBody(PushRegistration.self, of: request, from: caller)
  try context.database.register(
    body.token, platform: body.platform, by: caller, at: context.now)
  return .json { json in
    json.member("success", true)
    json.member("token", body.token.text)
    json.member("platform", body.platform.rawValue)
  }
}

/// `POST /api/push/unregister`: removes one push token of the account, or without a `token` all.
///
/// - Throws: ``Failure/badRequest(_:)``.
func removePushTokens(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticateByName(request)
  let token = try context.pushBody(NamedToken.self, of: request, from: caller).token
  let removed = try context.database.unregister(token, by: caller, at: context.now)
  let isLookup = token == nil && removed.tokens > 0
  return .json { json in
    json.member("success", true)
    json.member("removed", Int64(removed.tokens))
    json.member("metadataRemoved", Int64(removed.tokens))
    json.member("invalidStoredTokensRemoved", Int64(removed.malformed))
    json.member("skippedNonStringTokenCount", 0)
    json.member(
      "pushMetadataLookupConcurrency",
      isLookup ? Int64(context.settings.pushLookupConcurrency) : 0)
    json.member("removedUserTokenSet", isLookup ? 1 : 0)
  }
}

/// `POST /api/push/test`: has the companion send a notification to the account's devices, or to the
/// one whose `token` is named, and answers what Apple said of each.
///
/// A device whose preferences switch pushes off is sent to only where its token is named.
///
/// - Throws: ``Failure/pushNotConfigured(missing:)``; ``Failure/companionMissing``;
///   ``Failure/badRequest(_:)``; ``Failure/noTargets(_:named:concurrency:)``; ``Failure/busy``;
///   ``Failure/overdue``.
func testPush(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticateByName(request)
  let companion = try context.database.companionStatus(for: caller, at: context.now)
  guard let companion, !companion.isOverdue else { throw Failure.companionMissing }
  let missing = companion.missing.filter { $0.hasPrefix("APNS_") }
  guard missing.isEmpty else { throw Failure.pushNotConfigured(missing: missing) }
  let body = try request.pushBody(PushTestBody.self)
  let found = try context.database.pushTargets(for: caller, token: body.token, at: context.now)
  let concurrency = Int64(context.settings.pushLookupConcurrency)
  guard !found.targets.isEmpty else {
    throw Failure.noTargets(found, named: body.token != nil, concurrency: concurrency)
  }
  let result = try context.run(
    .pushTest, Errand.json(PushTest(tokens: found.targets, payload: body.payload)))
  let outcome = try Errand.decode(PushTestOutcome.self, from: result)
  guard outcome.missing.isEmpty else {
    throw Failure.pushNotConfigured(missing: outcome.missing)
  }
  return .json { json in
    json.summary(of: outcome.results)
    json.member("apnsSendConcurrency", outcome.concurrency)
    json.member("pushMetadataLookupConcurrency", concurrency)
    json.member("invalidStoredTokensRemoved", Int64(found.malformedRemoved))
    json.member("skippedNonStringTokenCount", 0)
    json.member("staleTokensRemoved", outcome.staleTokensRemoved)
    json.member("staleOwnershipTokensRemoved", Int64(found.staleRemoved))
    json.member(
      "results",
      array: { array in
        for result in outcome.results { array.object { $0.members(of: result) } }
      })
  }
}

extension Context {
  /// The bearer of the access token, who must also name the account in `X-Username`.
  ///
  /// - Throws: ``Failure/noCredentials``; ``Failure/invalidToken``.
  fileprivate func authenticateByName(_ request: Request) throws -> Caller {
    guard let username = request.firstValue("X-Username") else { throw Failure.noCredentials }
    var caller = try authenticate(request)
    caller.username = username.lowercased()
    return caller
  }

  /// The body. Where it is refused, a caller who may not come in hears of that first.
  ///
  /// - Throws: ``Failure/badRequest(_:)``; ``Refusal``.
  fileprivate func pushBody<Body: Decodable>(
    _ type: Body.Type, of request: Request, from caller: Caller
  ) throws -> Body {
    do {
      return try request.pushBody(type)
    } catch {
      try database.admit(caller, at: now)
      throw error
    }
  }
}

extension Failure {
  static let companionMissing = Failure(
    status: 503, message: "Push delivery is not running", fields: [("Retry-After", "60")])

  static func pushNotConfigured(missing: [String]) -> Failure {
    Failure(status: 500, message: "APNs is not configured.") { json in
      json.member("missingEnvVars", array: { array in for name in missing { array.string(name) } })
    }
  }

  /// A test that has nowhere to go.
  ///
  /// - Parameter named: whether the request named the token.
  static func noTargets(_ found: PushTargets, named: Bool, concurrency: Int64) -> Failure {
    let isOwnedByNone = found.staleRemoved > 0
    let message =
      named
      ? "Token is not registered for this user"
      : isOwnedByNone
        ? "No owned push tokens for this user" : "No registered push tokens for this user"
    return Failure(status: named ? 403 : 400, message: message) { json in
      if named || isOwnedByNone {
        json.member("staleOwnershipTokensRemoved", Int64(found.staleRemoved))
        json.member("pushMetadataLookupConcurrency", isOwnedByNone ? concurrency : 0)
      }
      json.member("invalidStoredTokensRemoved", Int64(found.malformedRemoved))
      json.member("skippedNonStringTokenCount", 0)
    }
  }
}

extension JSONWriter {
  /// How many sends succeeded and failed, and why; Apple's status where it gave no reason.
  fileprivate mutating func summary(of results: [PushTestOutcome.Result]) {
    let failures = results.filter { !$0.ok }
    let reasons = Dictionary(grouping: failures) { $0.reason ?? "HTTP_\($0.status)" }
    member("successCount", Int64(results.count - failures.count))
    member("failureCount", Int64(failures.count))
    member(
      "failureReasons",
      object: { object in
        for (reason, failures) in reasons.sorted(by: { $0.key < $1.key }) {
          object.member(named: reason, Int64(failures.count))
        }
      })
  }

  fileprivate mutating func members(of result: PushTestOutcome.Result) {
    member("ok", result.ok)
    member("status", result.status)
    member("token", result.token)
    if let apnsId = result.apnsId { member("apnsId", apnsId) }
    if let reason = result.reason { member("reason", reason) }
  }
}

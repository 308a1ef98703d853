import Base
import HTTP
import Store

/// `POST /api/push/test`: has the companion send a notification to the account's devices, or only to the
/// device with `token`, and returns the result for each.
///
/// A device whose preferences disable pushes gets the test only if the request has its token. Without settings for
/// APNs, the test still works if all its targets are Android devices and browsers.
///
/// - Throws: ``Failure/pushNotConfigured(missing:)``; ``Failure/companionMissing``;
///   ``Failure/badRequest(_:)``; ``Failure/noTargets``; ``Failure/busy``;
///   ``Failure/overdue``; ``Failure/tooManyRequests(retryAfter:)``.
func testPush(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticateByName(request)
  let tests = context.records.demoPushes
  let companion = try tests.companionStatus(for: caller)
  guard let companion, !companion.isOverdue else { throw Failure.companionMissing }
  let missing = companion.missing.filter { $0.hasPrefix("APNS_") }
  let body = try DemoPushBody(request, missing: missing)
  let found = try tests.targets(for: caller, token: body.token)
  guard missing.isEmpty || found.goesToOthersThanApple else {
    throw Failure.pushNotConfigured(missing: missing)
  }
  let concurrency = Int64(context.settings.pushLookupConcurrency)
  guard !found.targets.isEmpty else {
    throw Failure.noTargets(
      malformed: found.malformedRemoved, stale: found.staleRemoved, named: body.token != nil,
      concurrency: concurrency)
  }
  let test = DemoPush(
    accountID: caller.accountID, tokens: found.targets.map(\.token), isNamed: body.token != nil,
    message: body.message)
  let result = try context.run(
    .demoPush, test.json, for: caller.accountID, of: caller.accountID)
  let outcome = try decoded(DemoPushOutcome.self, from: result)
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

extension DemoPushBody {
  /// - Parameter missing: The missing variables for APNs. If there are any, the error for an invalid body names only
  ///   these.
  fileprivate init(_ request: Request, missing: [String]) throws {
    do {
      try self.init(PushMembers(request))
    } catch  where !missing.isEmpty {
      throw Failure.pushNotConfigured(missing: missing)
    }
  }
}

extension PushTargets {
  /// Whether there are targets, and all are devices or browsers without APNs.
  fileprivate var goesToOthersThanApple: Bool {
    !targets.isEmpty && targets.allSatisfy { !$0.platform.isApples }
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

  /// The account has no token for the test.
  ///
  /// - Parameter named: Whether the request has a `token`.
  static func noTargets(
    malformed: Int, stale: Int, named: Bool, concurrency: Int64
  ) -> Failure {
    let onlyStale = stale > 0
    let message =
      named
      ? "Token is not registered for this user"
      : onlyStale
        ? "No owned push tokens for this user" : "No registered push tokens for this user"
    return Failure(status: named ? 403 : 400, message: message) { json in
      if named || onlyStale {
        json.member("staleOwnershipTokensRemoved", Int64(stale))
        json.member("pushMetadataLookupConcurrency", onlyStale ? concurrency : 0)
      }
      json.member("invalidStoredTokensRemoved", Int64(malformed))
      json.member("skippedNonStringTokenCount", 0)
    }
  }
}

extension JSONWriter {
  /// Writes the numbers of successes and failures and the reasons; the HTTP status for a failure without a reason.
  fileprivate mutating func summary(of results: [DemoPushOutcome.TokenResult]) {
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

  fileprivate mutating func members(of result: DemoPushOutcome.TokenResult) {
    member("ok", result.ok)
    member("status", result.status)
    member("token", result.token)
    if let apnsId = result.apnsId { member("apnsId", apnsId) }
    if let reason = result.reason { member("reason", reason) }
  }
}

extension Endpoint {
  static var testPush: Endpoint {
    Endpoint(API.testPush) {
      Operation.push(
        "Sends a notification to the account's devices, or only to the device with `token`.",
        body: DemoPushBody.schema,
        answer: .json([
          "successCount": .integer, "failureCount": .integer, "failureReasons": .map(of: .integer),
          "apnsSendConcurrency": .integer, "pushMetadataLookupConcurrency": .integer,
          "invalidStoredTokensRemoved": .integer, "skippedNonStringTokenCount": .integer,
          "staleTokensRemoved": .integer, "staleOwnershipTokensRemoved": .integer,
          "results": .array(of: [
            "ok": .boolean, "status": .integer, "token": .string, "apnsId?": .string,
            "reason?": .string,
          ]),
        ]),
        errors: [
          .pushNotConfigured(missing: ["APNS_KEY_ID"]), .companionMissing, .busy, .overdue,
          .noTargets(malformed: 0, stale: 1, named: true, concurrency: 0),
          .noTargets(malformed: 0, stale: 0, named: true, concurrency: 0),
          .noTargets(malformed: 0, stale: 1, named: false, concurrency: 0),
          .noTargets(malformed: 0, stale: 0, named: false, concurrency: 0),
        ], limits: [.demoPushTokens])
    }
  }
}

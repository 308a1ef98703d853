package import Base
import Cryptography
package import HTTP
package import Logging
package import Store

/// The responder's work: one ``Request`` in, one ``Response`` out, whatever happens.
package final class Application: Sendable {
  /// Bytes; nginx's `client_max_body_size` is the same.
  package static let bodyLimit = 65_536

  let settings: Settings
  let beginWaiting: @Sendable () -> Bool
  let waitLimit: Duration
  private let database: Database
  let families: [Family]
  private let router: Router
  private let log: Logger
  private let clock: @Sendable () -> Timestamp
  private let makeRandom: @Sendable (Int) -> [UInt8]

  /// - Parameters:
  ///   - families: the first is the site's own, to which every other path belongs.
  ///   - clock: the only source of time.
  ///   - random: the only source of tokens; takes a count of bytes.
  ///   - beginWaiting: asked before a request waits for the companion; false refuses to wait.
  ///   - waitLimit: how long a request waits for the companion; nginx waits 15 s for us.
  package init(
    database: Database, settings: Settings, log: Logger, families: [Family] = Family.all,
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now,
    random: @escaping @Sendable (Int) -> [UInt8] = randomBytes,
    beginWaiting: @escaping @Sendable () -> Bool = { true }, waitLimit: Duration = .seconds(10)
  ) {
    self.database = database
    self.settings = settings
    self.log = log
    self.families = families
    router = Router(families)
    self.clock = clock
    makeRandom = random
    self.beginWaiting = beginWaiting
    self.waitLimit = waitLimit
  }

  /// The only place that looks at errors: a ``Failure`` becomes its status, anything else 500 or 503
  /// without detail.
  package func respond(to received: Request) -> Response {
    var request = received
    if request.requestID.isEmpty { request.requestID = hexEncoded(random(16)) }
    let found = request.defect == .ambiguousPath ? nil : router.match(request.path)
    let family = found?.family ?? family(of: request.path)
    let context = Context(
      application: self, pathItem: found?.pathItem ?? "",
      records: database.records(
        at: clock(),
        from: Origin(
          requestID: request.requestID,
          address: settings.pairingAccess.proxies.clientAddress(of: request),
          bundleID: request.bundleID)))
    var response: Response
    do {
      if found != nil { try families[family].before?(request, context) }
      response = try answer(request, by: found?.routes, in: context)
    } catch {
      let error = writeAudit(of: error, in: context)
      let failure = Failure(describing: error)
      report(error, as: failure, to: request)
      response = families[family].response(to: failure, of: request)
    }
    families[family].after?(&response, request, context)
    if !response.fields.contains(where: { $0.name == "Cache-Control" }) {
      response.fields.append(("Cache-Control", "no-store"))
    }
    response.fields.append(("X-Request-Id", request.requestID))
    return response.placed(below: settings.basePath)
  }

  /// The index of the family to which a path without routes belongs: the one with the longest path
  /// that matches, else the first.
  private func family(of path: String) -> Int {
    let lengths = families.map { $0.matchLength(of: path) }
    return families.indices.max { lengths[$0] < lengths[$1] } ?? 0
  }

  private func answer(
    _ request: Request, by routes: [Route]?, in context: borrowing Context
  ) throws -> Response {
    switch request.defect {
    case .ambiguousPath: throw Failure.notFound
    case .bodyTooLarge: throw Failure.payloadTooLarge
    case .bodyIncomplete: throw Failure.badRequest(\.bodyIncomplete)
    case nil: break
    }
    guard let routes else { throw Failure.notFound }
    return try routes.route(for: request.method).handler(request, context)
  }

  /// `error`, after the audit row that it asks for was written; or what went wrong in that.
  private func writeAudit(of error: any Error, in context: borrowing Context) -> any Error {
    guard let refusal = error as? any AuditedRefusal else { return error }
    do {
      try refusal.writeAudit(in: context.records)
      return error
    } catch {
      return error
    }
  }

  /// Logs one line with the request's id, and of what the client sent only the method and the path.
  private func report(_ error: any Error, as failure: Failure, to request: Request) {
    // A failure is intended, whatever its status; any other error is not.
    let isIntended = error is Failure || failure.status < 500
    let cause = failure.cause.map { ": \($0)" } ?? ""
    log.log(
      level: !isIntended ? .error : failure.status < 500 ? .info : .warning,
      "\(failure.status) \(isIntended ? failure.technicalMessage + cause : "\(error)")",
      metadata: [
        "request": "\(request.requestID)", "method": "\(request.method)",
        "path": "\(loggedPath(of: request))",
      ])
  }

  /// The path as far as its segments are plain, and no longer than any of the site's own: a token may stand in a path by
  /// mistake too, and all tokens are longer. Of a secret path, nothing that follows.
  private func loggedPath(of request: Request) -> String {
    let path = request.path.lowercased()
    // A path that holds the words of a secret path anywhere may be a misspelled one.
    let secret = families.lazy.flatMap(\.secretPaths)
      .first { path.contains($0.dropFirst().dropLast()) }
    if let secret { return "\(secret)[redacted]" }
    let segments = request.path.split(separator: "/", omittingEmptySubsequences: false)
    let plain = segments.prefix { segment in
      segment.utf8.count <= 26
        && segment.utf8.allSatisfy { $0.isAlphanumeric || "._-".utf8.contains($0) }
    }
    return plain.count == segments.count
      ? request.path : plain.map { "\($0)/" }.joined() + "[redacted]"
  }

  func random(_ count: Int) -> [UInt8] { makeRandom(count) }
}

package import Base
import Cryptography
package import HTTP
package import Logging
package import Store
import Synchronization

/// The responder's logic: takes one ``Request`` and always returns one ``Response``.
package final class Application: Sendable {
  /// The limit of a body in bytes, equal to nginx's `client_max_body_size`.
  package static let bodyLimit = 65_536

  let settings: Settings
  let beginWaiting: @Sendable () -> Bool
  let waitLimit: Duration
  private let database: Database
  let families: [Family]
  private let router: Router
  private let log: Logger
  private let clock: @Sendable () -> Timestamp
  private let docs = Mutex<APIDocs?>(nil)
  private let makeRandom: @Sendable (Int) -> [UInt8]

  /// - Parameters:
  ///   - families: All families. The first is the site's own, which answers all other paths.
  ///   - clock: The only source of time.
  ///   - random: The only source of tokens; takes a count of bytes.
  ///   - beginWaiting: Called before a request waits for the companion; false means that it may not wait.
  ///   - waitLimit: The wait limit of a request for the companion; nginx waits 15 s for us.
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

  /// Answers a request. This is the only place that handles errors: a ``Failure`` becomes its status,
  /// any other error becomes 500 or 503 without detail.
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

  /// The index of the family for a path without routes: the family with the longest matching path, or
  /// else the first.
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
    return try routes.route(for: request.method).endpoint.handler(request, context)
  }

  /// Writes the audit row that `error` requires, and returns `error`, or the error of this write.
  private func writeAudit(of error: any Error, in context: borrowing Context) -> any Error {
    guard let refusal = error as? any AuditedRefusal else { return error }
    do {
      try refusal.writeAudit(in: context.records)
      return error
    } catch {
      return error
    }
  }

  /// Logs one line with the request's id. From the client's data it logs only the method and the path.
  private func report(_ error: any Error, as failure: Failure, to request: Request) {
    // A Failure is intended with any status; another error is a bug or a broken dependency.
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

  /// The path up to the first segment with other characters or with more than 26, the site's longest: a path may contain a
  /// token by mistake, and all tokens are longer. Hides everything after a secret path.
  private func loggedPath(of request: Request) -> String {
    let path = request.path.lowercased()
    // A path with the words of a secret path anywhere may be a misspelled secret path.
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

  /// The description of the API, made for the first request for it.
  var apiDocs: APIDocs {
    docs.withLock { docs in
      if let docs { return docs }
      let made = APIDocs(
        json: APIDescription(of: families, in: settings).json.text,
        page: APIDocsPage(families: families, publicURL: settings.publicURL).content)
      docs = made
      return made
    }
  }

  func random(_ count: Int) -> [UInt8] { makeRandom(count) }
}

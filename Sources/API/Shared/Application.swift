package import Base
import Cryptography
package import HTTP
package import Logging
package import Store

/// The responder's logic: takes one ``Request`` and always returns one ``Response``.
package final class Application: Sendable {
  /// The limit of a body in bytes, equal to nginx's `client_max_body_size`.
  package static let bodyLimit = 65_536

  let settings: Settings
  let beginWaiting: @Sendable () -> Bool
  let waitLimit: Duration
  let waitingPlaces = WaitingPlaces()
  private let database: Database
  /// The first is the site's own, which answers all other paths.
  let families = Family.all
  private let router: Router
  private let log: Logger
  private let clock: @Sendable () -> Timestamp
  let docs: APIDocs
  private let makeRandom: @Sendable (Int) -> [UInt8]

  /// - Parameters:
  ///   - clock: The only source of time.
  ///   - random: The only source of tokens; takes a count of bytes.
  ///   - beginWaiting: Called before a request waits for the companion; false means that it may not wait.
  ///   - waitLimit: The wait limit of a request for the companion; nginx waits 15 s for us.
  package init(
    database: Database, settings: Settings, log: Logger,
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now,
    random: @escaping @Sendable (Int) -> [UInt8] = randomBytes,
    beginWaiting: @escaping @Sendable () -> Bool = { true }, waitLimit: Duration = .seconds(10)
  ) {
    self.database = database
    self.settings = settings
    self.log = log
    router = Router(families)
    docs = APIDocs(of: families, in: settings)
    self.clock = clock
    makeRandom = random
    self.beginWaiting = beginWaiting
    self.waitLimit = waitLimit
  }

  /// Answers a request.
  package func respond(to request: Request) -> Response {
    let running = begin(request, at: clock())
    let context = running.context
    return finish(
      running,
      Result {
        try runBefore(running, context)
        return try endpoint(of: running).handler(running.request, context)
      }, context)
  }

  /// The group of a request, for ``respond(toGroup:)``; nil if its read is no ``GroupedRead``.
  package func group(of request: Request) -> String? {
    // Only reads have groups, so a write needs no look at the routes.
    guard request.defect == nil, request.method == "GET" || request.method == "HEAD",
      let route = router.match(request.path)?.routes.route(ifAnyFor: request.method)
    else { return nil }
    return route.endpoint.grouped == nil ? nil : route.endpoint.name
  }

  /// Answers requests of one ``group(of:)`` with one read, in their order.
  package func respond(toGroup requests: [Request]) -> [Response] {
    let now = clock()
    let group = requests.map { begin($0, at: now) }
    guard
      let read = group.first?.match?.routes.route(ifAnyFor: requests[0].method)?.endpoint.grouped
    else { preconditionFailure("requests of a group have a read") }
    return zip(group, read.respond(group)).map { finish($0, $1, $0.context) }
  }

  private func begin(_ received: Request, at now: Timestamp) -> RunningRequest {
    var request = received
    if request.requestID.isEmpty { request.requestID = hexEncoded(random(16)) }
    return RunningRequest(
      application: self, request: request,
      match: request.hasRoute ? router.match(request.path) : nil,
      records: database.records(
        at: now,
        from: Origin(
          requestID: request.requestID,
          address: settings.pairingAccess.proxies.clientAddress(of: request),
          bundleID: request.bundleID)))
  }

  func runBefore(_ running: RunningRequest, _ context: borrowing Context) throws {
    guard let match = running.match else { return }
    try families[match.family].before?(running.request, context)
  }

  /// Completes the answer. This is the only place that handles errors: a ``Failure`` becomes its status, any other
  /// error becomes 500 or 503 without detail.
  private func finish(
    _ running: RunningRequest, _ result: Result<Response, any Error>, _ context: borrowing Context
  ) -> Response {
    let request = running.request
    let index = running.match?.family ?? family(of: request.path)
    var response: Response
    switch result {
    case .success(let made): response = made
    case .failure(let cause):
      let error = writeAudit(of: cause, in: context)
      let failure = Failure(describing: error)
      report(error, as: failure, to: request)
      response = families[index].response(to: failure, of: request)
    }
    families[index].after?(&response, request, context)
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

  private func endpoint(of running: RunningRequest) throws -> Endpoint {
    switch running.request.defect {
    case .ambiguousPath: throw Failure.notFound
    case .bodyTooLarge: throw Failure.payloadTooLarge
    case .bodyIncomplete: throw Failure.badRequest(\.bodyIncomplete)
    case nil: break
    }
    guard let routes = running.match?.routes else { throw Failure.notFound }
    return try routes.route(for: running.request.method).endpoint
  }

  /// Writes what `error` requires, such as an audit row, and returns `error`, or the error of this write.
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

  func random(_ count: Int) -> [UInt8] { makeRandom(count) }
}

extension Request {
  /// Whether the path may lead to a route. A client's own request for the path of authorization leads nowhere: a web server asks
  /// there about another target.
  fileprivate var hasRoute: Bool {
    defect != .ambiguousPath
      && (path != Self.authorizationPath || isAuthorization || targetPath != path)
  }
}

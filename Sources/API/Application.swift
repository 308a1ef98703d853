import Cryptography
package import FastCGI
package import Logging
package import Store

/// The responder's work: one ``Request`` in, one ``Response`` out, whatever happens.
package final class Application: Sendable {
  /// Bytes; nginx's `client_max_body_size` is the same.
  package static let bodyLimit = 65_536

  let database: Database
  let settings: Settings
  private let router = Router(Route.all)
  private let log: Logger
  private let clock: @Sendable () -> Timestamp
  private let random: @Sendable (Int) -> [UInt8]
  let beginWaiting: @Sendable () -> Bool
  let patience: Duration
  let bankPlaces = BankPlaces()
  private let crossOrigins: CrossOriginPolicy

  /// - Parameters:
  ///   - clock: the only source of time.
  ///   - random: the only source of tokens; takes a count of bytes.
  ///   - beginWaiting: asked before a request waits for the companion; false refuses to wait.
  ///   - patience: how long a request waits for the companion; nginx waits 15 s for us.
  package init(
    database: Database, settings: Settings, log: Logger,
    clock: @escaping @Sendable () -> Timestamp = Timestamp.now,
    random: @escaping @Sendable (Int) -> [UInt8] = randomBytes,
    beginWaiting: @escaping @Sendable () -> Bool = { true }, patience: Duration = .seconds(10)
  ) {
    self.database = database
    self.settings = settings
    self.log = log
    self.clock = clock
    self.random = random
    self.beginWaiting = beginWaiting
    self.patience = patience
    crossOrigins = CrossOriginPolicy(
      environment: settings.environment, allowedOrigins: settings.allowedOrigins)
  }

  /// The only place that looks at errors: a ``Failure`` becomes its status, anything else 500 or
  /// 503 without detail.
  package func respond(to request: Request) -> Response {
    let family = Family(path: request.path)
    var response: Response
    do {
      if family == .push, router.hasRoute(at: request) { try crossOrigins.admit(request) }
      response = try answer(request)
    } catch {
      let error = audited(error, of: request)
      let failure = failure(for: error)
      report(error, as: failure, to: request)
      response = family.response(to: failure)
    }
    if family == .push { crossOrigins.mark(&response, to: request) }
    if !response.fields.contains(where: { $0.name == "Cache-Control" }) {
      response.fields.append(("Cache-Control", "no-store"))
    }
    if !request.requestID.isEmpty { response.fields.append(("X-Request-Id", request.requestID)) }
    return response
  }

  private func answer(_ request: Request) throws -> Response {
    switch request.defect {
    case .ambiguousPath: throw Failure.notFound()
    case .bodyTooLarge: throw Failure.payloadTooLarge
    case .bodyIncomplete:
      throw Failure.badRequest("The body is shorter than its Content-Length says")
    case nil: break
    }
    let (route, pathItem) = try router.route(for: request)
    let context = Context(
      application: self, now: clock(), pathItem: pathItem, origin: request.origin)
    return try route.handler(request, context)
  }

  private func failure(for error: any Error) -> Failure {
    switch error {
    case let failure as Failure: failure
    case let refusal as Refusal: Failure(refusal)
    case let refused as ModelsRefused: Failure(refused)
    case let refusal as PaymentRefusal: Failure(refusal)
    case let error as DecodingError: Failure(error)
    case let error where Database.isUnavailable(error): .unavailable
    default: .serverError
    }
  }

  /// `error`, after a refused device credential has been written down; or what went wrong in that.
  private func audited(_ error: any Error, of request: Request) -> any Error {
    guard case Refusal.credential(let account, let device) = error else { return error }
    do {
      try database.auditRefusedCredential(
        account: account, device: device, from: request.origin, at: clock())
      return error
    } catch {
      return error
    }
  }

  /// One line for each error, with the request's id and nothing that the client sent but method and
  /// path, less the device token that one of them holds.
  private func report(_ error: any Error, as failure: Failure, to request: Request) {
    // A failure is meant, whatever its status; anything else is not.
    let isMeant = error is Failure || failure.status < 500
    log.log(
      level: !isMeant ? .error : failure.status < 500 ? .info : .warning,
      "\(failure.status) \(isMeant ? failure.message : "\(error)")",
      metadata: [
        "request": "\(request.requestID)", "method": "\(request.method)",
        "path": "\(request.loggedPath)",
      ])
  }

  func random(_ count: Int) -> [UInt8] { random(count) }
}

extension Request {
  fileprivate var origin: Origin { Origin(requestID: requestID, address: remoteAddress) }
}

/// What a handler may use: it lives as long as the request.
struct Context: ~Copyable {
  private let application: Application
  /// Read once per request.
  let now: Timestamp
  /// What stands in the path where the route has `:`.
  let pathItem: String
  let origin: Origin

  init(application: Application, now: Timestamp, pathItem: String, origin: Origin) {
    self.application = application
    self.now = now
    self.pathItem = pathItem
    self.origin = origin
  }

  var database: Database { application.database }
  var settings: Settings { application.settings }

  /// How long a request waits for the companion.
  var patience: Duration { application.patience }

  /// Whether the request may wait; its thread gives its run permit away then.
  func beginWaiting() -> Bool { application.beginWaiting() }

  var bankPlaces: BankPlaces { application.bankPlaces }

  /// The only source of tokens.
  func random(_ count: Int) -> [UInt8] { application.random(count) }
}

extension Request {
  fileprivate var loggedPath: String {
    path.contains("users-by-token") ? "/users-by-token/[redacted]" : path
  }
}

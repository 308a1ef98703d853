import Foundation
import HTTP
import Support
import Testing

@testable import FastCGI

/// A server on its own thread in this process.
final class RunningServer: Sendable {
  typealias Handler = @Sendable (Request, Server) -> Response

  let endpoint: Endpoint
  let server: Server
  private let ended = DispatchSemaphore(value: 0)
  private let runner = Locked<pthread_t?>(nil)
  private let work = WatchedWork("runs a server")

  /// Starts a server on `endpoint`, which keeps its own descriptor for the next server.
  convenience init(
    on endpoint: Endpoint, workers: Int = 2, waiters: Int = 0, bodyLimit: Int = 1000,
    requestTimeLimit: Duration = .never, partialRequestLimit: Int = 512,
    drainDelays: DrainDelays = .never, aliveInterval: Duration? = nil,
    reports: Locked<[ServerEvent]> = Locked([]),
    _ handler: @escaping Handler
  ) throws {
    try self.init(
      on: endpoint, workers: workers, waiters: waiters, bodyLimit: bodyLimit,
      requestTimeLimit: requestTimeLimit, partialRequestLimit: partialRequestLimit,
      drainDelays: drainDelays, aliveInterval: aliveInterval, reports: reports
    ) { server in FastCGI.Handler { handler($0, server) } }
  }

  init(
    on endpoint: Endpoint, workers: Int, waiters: Int, bodyLimit: Int = 1000,
    requestTimeLimit: Duration = .never, partialRequestLimit: Int = 512,
    drainDelays: DrainDelays = .never, aliveInterval: Duration? = nil,
    reports: Locked<[ServerEvent]> = Locked([]),
    making handler: @escaping @Sendable (Server) -> FastCGI.Handler
  ) throws {
    self.endpoint = endpoint
    let server = try Server(
      listener: Listener(descriptor: dup(endpoint.descriptor)), workers: workers, waiters: waiters,
      bodyLimit: bodyLimit, requestTimeLimit: requestTimeLimit,
      partialRequestLimit: partialRequestLimit, drainDelays: drainDelays,
      aliveInterval: aliveInterval
    ) { report in reports.update { $0.append(report) } }
    self.server = server
    Thread { [self] in
      runner.set(pthread_self())
      do { try server.run(handler(server)) } catch { Issue.record(error) }
      runner.set(nil)
      ended.signal()
    }.start()
  }

  func connect() throws -> Connection { try Connection(to: endpoint.path) }

  /// Sends one request on a new connection and returns the answer.
  func answer(_ bytes: [UInt8] = requestBytes()) throws -> Answer {
    try connect().answer(to: bytes)
  }

  /// Sends SIGTERM to the server's thread if it runs. The server must have answered a request or drain.
  func terminate() {
    runner.update { thread in
      if let thread { pthread_kill(thread, SIGTERM) }
    }
  }

  /// Waits for `phase` or a later one: a busy machine may skip the seconds of a phase.
  func waitForPhase(_ phase: Server.Phase) {
    while server.phase < phase { sched_yield() }
  }

  /// Whether `run` has returned. True once.
  func hasEnded() -> Bool { ended.wait(timeout: .now()) == .success }

  /// Waits for the return of `run`.
  func waitForEnd() { waiting(for: "the end of the server") { ended.wait() } }
}

extension Duration {
  /// Longer than a test.
  static let never = seconds(86_400)
}

extension DrainDelays {
  /// A server that drains until its last connection ends.
  static let never: DrainDelays = {
    var delays = DrainDelays()
    (delays.closing, delays.stop, delays.end) = (.never, .never, .never)
    return delays
  }()

  /// A server that soon closes its connections after their responses.
  static let closingSoon: DrainDelays = {
    var delays = never
    delays.closing = .milliseconds(50)
    return delays
  }()

  /// A server that, after a second signal, soon drops running requests.
  static let endingSoon: DrainDelays = {
    var delays = never
    delays.end = .milliseconds(50)
    return delays
  }()
}

/// Runs `body` with a server, and then drains it.
func withServer(
  workers: Int = 2, waiters: Int = 0, bodyLimit: Int = 1000,
  requestTimeLimit: Duration = .never,
  handler: @escaping RunningServer.Handler = { request, _ in describe(request) },
  _ body: (RunningServer) throws -> Void
) throws {
  let running = try RunningServer(
    on: Endpoint(), workers: workers, waiters: waiters, bodyLimit: bodyLimit,
    requestTimeLimit: requestTimeLimit,
    handler)
  defer {
    running.server.drain()
    running.waitForEnd()
  }
  try body(running)
}

/// An answer that describes the request as the server parsed it.
func describe(_ request: Request) -> Response {
  let text = """
    \(request.method) \(request.path) \(request.query) \(String(decoding: request.body, as: UTF8.self)) \
    \(request.defect.map { "\($0)" } ?? "-")
    """
  return Response(status: 200, body: Array(text.utf8))
}

/// A value protected by a lock.
final class Locked<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var value: Value

  init(_ value: Value) { self.value = value }

  func get() -> Value { lock.withLock { value } }
  func set(_ new: Value) { lock.withLock { value = new } }
  func update(_ change: (inout Value) -> Void) { lock.withLock { change(&value) } }
}

/// Runs `body` for each index at the same time on separate threads, and waits for all.
func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) {
  let group = DispatchGroup()
  for index in 0..<count {
    group.enter()
    Thread {
      do { try body(index) } catch { Issue.record(error) }
      group.leave()
    }.start()
  }
  waiting(for: "the end of \(count) threads") { group.wait() }
}

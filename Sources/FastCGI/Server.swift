import CGlibc
import Glibc
import HTTP
import Logging
import Synchronization

/// A FastCGI responder on one listening socket.
///
/// Idle connections and the listener wait in one ``Poller``. A connection occupies a thread only
/// while a complete request is served. `workers` threads run at once, and a part of them polls; `waiters` more threads
/// replace threads that wait (``beginWaiting()``).
package final class Server: Sendable {
  /// The server's way to treat connections, in the order of a shutdown.
  enum Phase: UInt8, AtomicRepresentable, Comparable {
    case serving
    /// Accepts no new connections; the web server closes kept connections after some idle time.
    case draining
    /// Closes each connection after its response.
    case closing
    case stopped

    static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
  }

  let listener: Listener
  let bodyLimit: Int
  let poller: Poller
  /// One permit for each thread that may run.
  let permits: Semaphore
  /// One permit for each running thread that may poll. Fewer pollers gather larger groups of requests (``Handler``), and
  /// wake fewer threads. While none of them gets on, the other running threads poll too.
  let pollers: Semaphore
  /// The number of polls with a permit so far.
  let polls = Atomic(0)
  /// One slot for each thread that may wait.
  let waiterSlots: Semaphore
  /// Wakes every thread when the server stops.
  let stop: WakeEvent
  let aliveTimer: IntervalTimer
  /// Timer of the search for ``partialRequests`` that take too long.
  let lateTimer: IntervalTimer
  /// Partial requests by connection, except those that a thread is reading.
  let partialRequests = Mutex<[CInt: PartialRequest]>([:])
  let paths: RequestPaths
  /// Whether to answer only authorizers: every local process could use a TCP socket and claim to be the web server.
  let isForAuthorizersOnly: Bool
  let report: @Sendable (ServerEvent) -> Void
  let log = Logger(label: "FastCGI")

  /// The time within which a request must arrive.
  let requestTimeLimit: Duration
  /// The limit of partial requests at once: of most a few hundred octets are in memory, of some 64 KiB. Over this
  /// limit the server closes the oldest, because an honest request arrives within a moment.
  let partialRequestLimit: Int
  private let drainDelays: DrainDelays
  private let threadCount: Int
  /// Wakes the supervisor: see ``isDrainWanted``, ``connections``, ``threads``.
  private let progress: WakeEvent
  private let currentPhase = Atomic(Phase.serving)
  private let isDrainWanted = Atomic(false)
  private let connections = Atomic(0)
  private let threads = Atomic(0)
  private let failure = Mutex<FastCGIError?>(nil)

  /// - Parameters:
  ///   - listener: The listening socket, closed with the server.
  ///   - workers: The number of requests served at once.
  ///   - waiters: The number of further requests that may wait.
  ///   - bodyLimit: The largest content to accept, in octets.
  ///   - basePath: The base path of the site, see ``RequestPaths``.
  ///   - requestTimeLimit: The time within which a request must arrive; enforced after 1 to 1.5 times this.
  ///   - partialRequestLimit: The number of requests that may be partial at once.
  ///   - drainDelays: The times of a shutdown.
  ///   - aliveInterval: The time between two reports ``ServerEvent/alive``.
  ///   - report: Called on any thread of the server; must not wait.
  /// - Throws: ``FastCGIError`` if the process cannot open the few descriptors that it needs.
  package init(
    listener: consuming Listener, workers: Int, waiters: Int, bodyLimit: Int,
    below basePath: String = "", requestTimeLimit: Duration = .seconds(20),
    partialRequestLimit: Int = 512, drainDelays: DrainDelays = DrainDelays(),
    aliveInterval: Duration? = nil,
    report: @escaping @Sendable (ServerEvent) -> Void = { _ in }
  ) throws(FastCGIError) {
    isForAuthorizersOnly = !listener.isUnixSocket
    self.listener = listener
    self.requestTimeLimit = requestTimeLimit
    self.partialRequestLimit = partialRequestLimit
    self.drainDelays = drainDelays
    paths = RequestPaths(basePath: basePath)
    lateTimer = try IntervalTimer(every: requestTimeLimit / 2)
    self.bodyLimit = bodyLimit
    self.report = report
    aliveTimer = try IntervalTimer(every: aliveInterval)
    poller = try Poller()
    stop = try WakeEvent()
    progress = try WakeEvent()
    permits = Semaphore(workers)
    // The web server and MariaDB usually run on the same processors.
    pollers = Semaphore(max(1, min(workers, sysconf(CInt(_SC_NPROCESSORS_ONLN)) / 2)))
    waiterSlots = Semaphore(waiters)
    threadCount = workers + waiters
  }

  /// Lets another thread run instead of this one for the rest of the request; a handler calls this before
  /// it waits. Does nothing on a thread of another owner, and the second time in a request.
  ///
  /// - Returns: False if `waiters` requests wait already.
  package func beginWaiting() -> Bool {
    guard let worker = Worker.current, worker.server === self else { return true }
    return worker.beginWaiting()
  }
}

// MARK: - Events from workers

extension Server {
  var phase: Phase { currentPhase.load(ordering: .sequentiallyConsistent) }

  func connectionBegins() {
    connections.add(1, ordering: .sequentiallyConsistent)
  }

  func connectionEnded() {
    let left = connections.subtract(1, ordering: .sequentiallyConsistent).newValue
    if left == 0, phase != .serving { progress.signal() }
  }

  /// Ends the server because it can no longer accept connections.
  func listenerFailed(_ error: FastCGIError) {
    failure.withLock { $0 = error }
    drain()
  }
}

// MARK: - Running

extension Server {
  /// A thread's stack, in octets.
  private static let stackSize = 512 << 10

  /// Answers requests with `handler`, on several threads, until SIGTERM or SIGINT; then drains.
  ///
  /// Call this once, before the process has other threads: it blocks both signals for good and ignores
  /// SIGPIPE. While draining, it leaves new connections to the next owner of the listener and serves
  /// kept connections until the web server closes them. A second signal ends the server at once.
  ///
  /// - Throws: ``FastCGIError`` if a thread cannot be made or the listener fails.
  package func run(_ handler: Handler) throws(FastCGIError) {
    let signals = try SignalDescriptor(SIGTERM, SIGINT)
    signal(SIGPIPE, SIG_IGN)
    guard poller.add(listener.descriptor), poller.addForAll(stop.descriptor),
      poller.add(aliveTimer.descriptor), poller.add(lateTimer.descriptor)
    else { throw FastCGIError("epoll_ctl", errno) }
    do {
      for _ in 0..<threadCount { try startThread(handler) }
      report(.ready)
      supervise(signals)
    } catch {
      end()
      throw error
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  /// Starts the same shutdown as SIGTERM.
  func drain() {
    isDrainWanted.store(true, ordering: .sequentiallyConsistent)
    progress.signal()
  }

  private func supervise(_ signals: borrowing SignalDescriptor) {
    _ = signals.wait(progress) { isDrainWanted.load(ordering: .sequentiallyConsistent) }
    let begin = ContinuousClock.now
    beginPhase(.draining)
    report(.stopping)
    let isDrained = { [self] in connections.load(ordering: .sequentiallyConsistent) == 0 }
    guard signals.wait(progress, until: begin + drainDelays.closing, for: isDrained)
    else { return end() }
    beginPhase(.closing)
    endPartialRequests(begunBy: .now)
    guard signals.wait(progress, until: begin + drainDelays.stop, for: isDrained)
    else { return end() }
    end()
    _ = signals.wait(progress, until: begin + drainDelays.end) {
      threads.load(ordering: .acquiring) == 0
    }
  }

  /// Shuts down connections whose requests began by `latest` and are still arriving. The poller then reports each one,
  /// and a worker closes it.
  func endPartialRequests(begunBy latest: ContinuousClock.Instant) {
    partialRequests.withLock { partialRequests in
      for (connection, partial) in partialRequests where partial.begin <= latest {
        shutdown(connection, CInt(SHUT_RDWR))
      }
    }
  }

  private func beginPhase(_ phase: Phase) {
    currentPhase.store(phase, ordering: .sequentiallyConsistent)
  }

  private func end() {
    beginPhase(.stopped)
    stop.signal()
    permits.give()
  }

  private func startThread(_ handler: Handler) throws(FastCGIError) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, Self.stackSize)
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    let start = Unmanaged.passRetained(Start(server: self, handler: handler))
    threads.add(1, ordering: .relaxed)
    var thread = pthread_t()
    let code = pthread_create(
      &thread, &attributes,
      { argument in
        let start = Unmanaged<Start>.fromOpaque(argument!).takeRetainedValue()
        Worker(of: start.server, start.handler).run()
        start.server.threadEnded()
        return nil
      }, start.toOpaque())
    guard code == 0 else {
      start.release()
      threads.subtract(1, ordering: .relaxed)
      throw FastCGIError("pthread_create", code)
    }
  }

  private func threadEnded() {
    threads.subtract(1, ordering: .releasing)
    progress.signal()
  }
}

/// The argument of a new thread.
private final class Start: Sendable {
  let server: Server
  let handler: Handler

  init(server: Server, handler: Handler) {
    self.server = server
    self.handler = handler
  }
}

import CFastCGI
import Glibc
package import HTTP
import Logging
import Synchronization

/// A FastCGI responder on one listening socket.
///
/// Idle connections and the listener wait in one ``Poller``; a connection occupies a thread only
/// while a request is served, which must have arrived as a whole. `workers` threads run; as many more as
/// `waiters` are there to take the place of those that wait (``beginWaiting()``).
package final class Server: Sendable {
  /// What a server does with connections, in the order in which it ends.
  enum Phase: UInt8, AtomicRepresentable, Comparable {
    case serving
    /// Accepts nothing new; the web server closes kept connections when they have idled.
    case draining
    /// Closes each connection after its response.
    case closing
    case stopped

    static func < (left: Phase, right: Phase) -> Bool { left.rawValue < right.rawValue }
  }

  let listener: Listener
  let bodyLimit: Int
  let poller: Poller
  /// One for each thread that may run.
  let permits: Semaphore
  /// One for each thread that may wait.
  let waiterSlots: Semaphore
  /// Wakes every thread in the end.
  let stop: Alarm
  let pulse: Pulse
  /// When to look for ``arrivals`` that have taken too long.
  let sweep: Pulse
  /// Of each connection on which a request has arrived in part, and which no thread has in hand.
  let arrivals = Mutex<[CInt: Arrival]>([:])
  let paths: RequestPaths
  /// Answers authorizers alone: on a TCP socket anybody on this machine could claim to be the web server.
  let isForAuthorizersOnly: Bool
  let report: @Sendable (Report) -> Void
  let log = Logger(label: "FastCGI")

  /// How long a request may take to arrive.
  let arrivalLimit: Duration
  /// How many may arrive in part at once: a few hundred octets of each are read, and 64 KiB of some. Beyond it the oldest
  /// goes, because an honest one is there within a moment.
  let arrivalCountLimit: Int
  private let threadCount: Int
  /// Wakes the supervisor: see ``isDrainWanted``, ``connections``, ``threads``.
  private let progress: Alarm
  private let currentPhase = Atomic(Phase.serving)
  private let isDrainWanted = Atomic(false)
  private let connections = Atomic(0)
  private let threads = Atomic(0)
  private let failure = Mutex<FastCGIError?>(nil)

  /// - Parameters:
  ///   - listener: Closed with the server.
  ///   - workers: How many requests are worked on at once.
  ///   - waiters: How many more may wait.
  ///   - bodyLimit: The greatest content to accept, in octets.
  ///   - basePath: Below which the site lies, see ``RequestPaths``.
  ///   - arrivalLimit: How long a request may take to arrive; half as long again at most.
  ///   - arrivalCountLimit: How many may arrive in part at once.
  ///   - aliveInterval: How often to report ``Report/alive``.
  ///   - report: Called on any thread of the server; must not wait.
  /// - Throws: ``FastCGIError`` if the process may not have the few descriptors it needs.
  package init(
    listener: consuming Listener, workers: Int, waiters: Int, bodyLimit: Int,
    below basePath: String = "", arrivalLimit: Duration = .seconds(20),
    arrivalCountLimit: Int = 512, aliveInterval: Duration? = nil,
    report: @escaping @Sendable (Report) -> Void = { _ in }
  ) throws(FastCGIError) {
    isForAuthorizersOnly = !listener.isUnixSocket
    self.listener = listener
    self.arrivalLimit = arrivalLimit
    self.arrivalCountLimit = arrivalCountLimit
    paths = RequestPaths(basePath: basePath)
    sweep = try Pulse(every: arrivalLimit / 2)
    self.bodyLimit = bodyLimit
    self.report = report
    pulse = try Pulse(every: aliveInterval)
    poller = try Poller()
    stop = try Alarm()
    progress = try Alarm()
    permits = Semaphore(workers)
    waiterSlots = Semaphore(waiters)
    threadCount = workers + waiters
  }

  /// Lets another thread run in place of this one for the rest of the request: for a handler that
  /// is about to wait. Off the server's threads, and the second time in a request, it does nothing.
  ///
  /// - Returns: False if as many requests as `waiters` wait already.
  package func beginWaiting() -> Bool {
    guard let worker = Worker.current, worker.server === self else { return true }
    return worker.beginWaiting()
  }
}

// MARK: - What workers tell

extension Server {
  var phase: Phase { currentPhase.load(ordering: .sequentiallyConsistent) }

  func connectionBegins() {
    connections.add(1, ordering: .sequentiallyConsistent)
  }

  func connectionEnded() {
    let left = connections.subtract(1, ordering: .sequentiallyConsistent).newValue
    if left == 0, phase != .serving { progress.signal() }
  }

  /// Ends the server: nothing can be accepted any more.
  func listenerFailed(_ error: FastCGIError) {
    failure.withLock { $0 = error }
    drain()
  }
}

// MARK: - Running

extension Server {
  /// When, after the first signal, connections are closed after their response, then all that idle
  /// are given up, and then requests too. systemd is told to wait 10 s.
  private static let closingDelay: Duration = .seconds(3)
  private static let stopDelay: Duration = .seconds(6)
  private static let endDelay: Duration = .seconds(9)

  /// A thread's stack, in octets.
  private static let stackSize = 512 << 10

  /// Answers requests with `handler`, on several threads, until SIGTERM or SIGINT; then drains.
  ///
  /// To be called once, before the process has other threads: both signals are blocked, and remain
  /// so. SIGPIPE is ignored. New connections are left to the next holder of the listener; those
  /// that are kept are served until the web server closes them. A second signal ends at once.
  ///
  /// - Throws: ``FastCGIError`` if a thread cannot be made or the listener fails.
  package func run(
    _ handler: @escaping @Sendable (Request) -> Response
  ) throws(FastCGIError) {
    let signals = try SignalDescriptor(SIGTERM, SIGINT)
    signal(SIGPIPE, SIG_IGN)
    guard poller.add(listener.descriptor), poller.addForAll(stop.descriptor),
      poller.add(pulse.descriptor), poller.add(sweep.descriptor)
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

  /// Does what SIGTERM does.
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
    guard signals.wait(progress, until: begin + Self.closingDelay, for: isDrained)
    else { return end() }
    beginPhase(.closing)
    guard signals.wait(progress, until: begin + Self.stopDelay, for: isDrained)
    else { return end() }
    end()
    _ = signals.wait(progress, until: begin + Self.endDelay) {
      threads.load(ordering: .acquiring) == 0
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

  private func startThread(
    _ handler: @escaping @Sendable (Request) -> Response
  ) throws(FastCGIError) {
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

/// What a new thread is handed.
private final class Start: Sendable {
  let server: Server
  let handler: @Sendable (Request) -> Response

  init(server: Server, handler: @escaping @Sendable (Request) -> Response) {
    self.server = server
    self.handler = handler
  }
}

import Glibc
import Logging
import Synchronization

/// The socket on which the responder knocks: whoever connects wakes the companion, and nothing is
/// said.
package struct KnockSocket: Sendable {
  fileprivate let descriptor: CInt

  /// The socket handed over by systemd (`LISTEN_FDS`, `LISTEN_PID`; sd_listen_fds(3)) or as
  /// standard input; nil where there is none.
  package static func inherited() -> KnockSocket? {
    for descriptor in [handedBySystemd(), 0].compactMap({ $0 }) where isListening(descriptor) {
      return KnockSocket(descriptor: descriptor)
    }
    return nil
  }

  private init(descriptor: CInt) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL, 0) | O_NONBLOCK)
  }

  /// Accepts and closes whatever has connected.
  package func answer() {
    while case let knock = accept(descriptor, nil, nil), knock >= 0 { close(knock) }
  }

  private static func handedBySystemd() -> CInt? {
    guard let process = getenv("LISTEN_PID").map({ String(cString: $0) }),
      Int32(process) == getpid(),
      let count = getenv("LISTEN_FDS").map({ String(cString: $0) }), Int(count) ?? 0 >= 1
    else { return nil }
    return 3  // SD_LISTEN_FDS_START
  }

  private static func isListening(_ descriptor: CInt) -> Bool {
    var isListening: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &isListening, &size) == 0
      && isListening == 1
  }
}

extension Companion {
  /// Passes on an interval, and attends to each knock, also while a pass is under way, until SIGTERM
  /// or SIGINT; what is in hand is finished first. A pass that failed is soon repeated.
  package func watch(every interval: Duration, knocks: KnockSocket?) {
    let stop = StopSignal()
    var nextPass = ContinuousClock.now
    var pass: RunningPass?
    repeat {
      if let ended = pass, !ended.isRunning {
        if !ended.hasSucceeded { nextPass = min(nextPass, .now + .seconds(5)) }
        pass = nil
      }
      if pass == nil, ContinuousClock.now >= nextPass {
        nextPass = .now + interval
        pass = RunningPass(of: self)
      } else {
        do { try attend() } catch { log.error("knocked in vain: \(error)") }
      }
    } while !stop.wait(atMost: pass == nil ? nextPass - .now : .seconds(1), orFor: knocks)
    stopping.set()
    pass?.wait()
  }

  /// One pass, and attends to each knock meanwhile.
  ///
  /// - Returns: whether the pass did all it had to.
  package func run(knocks: KnockSocket?) -> Bool {
    knocks?.answer()
    let pass = RunningPass(of: self)
    while !pass.isEnded(within: .seconds(1), orKnock: knocks) {
      do { try attend() } catch { log.error("knocked in vain: \(error)") }
    }
    return pass.hasSucceeded
  }
}

/// Something that can be told once, by any thread.
package final class Flag: Sendable {
  private let value = Atomic(false)

  package var isSet: Bool { value.load(ordering: .acquiring) }
  package func set() { value.store(true, ordering: .releasing) }
}

/// A pass on a thread of its own, so that a slow one keeps nobody waiting.
private final class RunningPass: Sendable {
  private let success = Flag()
  private let pipe: (reader: CInt, writer: CInt)

  init(of companion: Companion) {
    var ends: [CInt] = [0, 0]
    precondition(Glibc.pipe(&ends) == 0, "no pipe")
    pipe = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let work = Work(pass: self, companion: companion)
    var thread = pthread_t()
    let failure = pthread_create(
      &thread, nil,
      { work in
        Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().do()
        return nil
      }, Unmanaged.passRetained(work).toOpaque())
    precondition(failure == 0, "no thread")
    pthread_detach(thread)
  }

  deinit { close(pipe.reader) }

  var hasSucceeded: Bool { success.isSet }
  var isRunning: Bool { !isEnded(within: .zero, orKnock: nil) }
  func wait() { _ = isEnded(within: nil, orKnock: nil) }

  /// Waits for the end, a knock or the time (nil: none); whether it was the end.
  func isEnded(within limit: Duration?, orKnock knocks: KnockSocket?) -> Bool {
    var polled = [pollfd(fd: pipe.reader, events: Int16(POLLIN), revents: 0)]
    if let descriptor = knocks?.descriptor {
      polled.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
    }
    poll(&polled, nfds_t(polled.count), limit.map { CInt($0 / .milliseconds(1)) } ?? -1)
    knocks?.answer()
    return polled[0].revents != 0
  }

  private final class Work {
    let pass: RunningPass
    let companion: Companion

    init(pass: RunningPass, companion: Companion) {
      self.pass = pass
      self.companion = companion
    }

    func `do`() {
      do {
        try companion.pass()
        pass.success.set()
      } catch {
        companion.log.error("the pass failed: \(error)")
      }
      close(pass.pipe.writer)
    }
  }
}

/// SIGTERM and SIGINT as something to wait for: a thread takes them (`sigwait`) and closes a pipe.
private struct StopSignal: ~Copyable {
  private let pipe: (reader: CInt, writer: CInt)

  init() {
    var ends: [CInt] = [0, 0]
    precondition(Glibc.pipe(&ends) == 0, "no pipe")
    pipe = (ends[0], ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var signals = Self.signals()
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    var thread = pthread_t()
    let writer = UnsafeMutableRawPointer(bitPattern: Int(pipe.writer))
    let failure = pthread_create(
      &thread, nil,
      { writer in
        var signals = StopSignal.signals()
        var signal: CInt = 0
        sigwait(&signals, &signal)
        close(CInt(Int(bitPattern: writer)))
        return nil
      }, writer)
    precondition(failure == 0, "no thread")
    pthread_detach(thread)
  }

  deinit { close(pipe.reader) }

  /// - Returns: whether the signal came; false after a knock or the time.
  func wait(atMost limit: Duration, orFor knocks: KnockSocket?) -> Bool {
    var polled = [pollfd(fd: pipe.reader, events: Int16(POLLIN), revents: 0)]
    if let descriptor = knocks?.descriptor {
      polled.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
    }
    poll(&polled, nfds_t(polled.count), CInt(max(0, (limit / .milliseconds(1)).rounded(.up))))
    knocks?.answer()
    return polled[0].revents != 0
  }

  private static func signals() -> sigset_t {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGTERM)
    sigaddset(&signals, SIGINT)
    return signals
  }
}

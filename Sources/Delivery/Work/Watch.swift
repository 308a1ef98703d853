import Base
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
  ///
  /// - Returns: whether anything had.
  @discardableResult
  package func answer() -> Bool {
    var hasKnocked = false
    while case let knock = accept(descriptor, nil, nil), knock >= 0 {
      close(knock)
      hasKnocked = true
    }
    return hasKnocked
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
    let stop = stopSignal()
    let lanes = lanes()
    var nextPass = ContinuousClock.now
    var pass: RunningPass?
    while !stop.isSet {
      if let ended = pass, ended.end.isSet {
        if !ended.hasSucceeded { nextPass = min(nextPass, .now + .seconds(5)) }
        pass = nil
      }
      if pass == nil, ContinuousClock.now >= nextPass {
        nextPass = .now + interval
        pass = RunningPass(of: self, pollingAtMost: interval)
      } else {
        for lane in lanes { lane.wake() }
      }
      wait(
        atMost: pass == nil ? nextPass - .now : .seconds(1), for: [stop, pass?.end], or: knocks)
    }
    stopping.set()
    if let pass { wait(atMost: nil, for: [pass.end], or: nil) }
    for lane in lanes { lane.finish() }
  }

  /// One pass, and attends to each knock meanwhile. SIGTERM and SIGINT end it when what is in hand is
  /// finished.
  ///
  /// - Returns: whether the pass did all it had to.
  package func run(knocks: KnockSocket?) -> Bool {
    let stop = stopSignal()
    let lanes = lanes()
    // The next run polls those for whom this time was too short.
    let pass = RunningPass(of: self, pollingAtMost: min(settings.interval, .seconds(30)))
    while !pass.end.isSet {
      if stop.isSet { stopping.set() }
      let hasKnocked = wait(
        atMost: .seconds(1), for: [pass.end, stopping.isSet ? nil : stop], or: knocks)
      if hasKnocked || !pass.end.isSet { for lane in lanes { lane.wake() } }
    }
    for lane in lanes { lane.finish() }
    // What a knock had sent since the pass ended.
    pushes?.hangUp()
    return pushes?.takeAlarm() == nil && pass.hasSucceeded
  }

  /// To be finished in this order: what an errand finds may be pushed.
  ///
  /// Banks have some lanes to themselves, for a slow one is waited for, and begin at once, for no pass
  /// attends to them.
  private func lanes() -> [Lane] {
    let pushes = Lane(log) { try deliverPushes(waiting: false) }
    let errands = Lane(log) {
      defer { pushes.wake() }
      try runErrands()
    }
    let banks = (1...4).map { _ in Lane(log) { try runErrands(of: .banks) } }
    for bank in banks { bank.wake() }
    return banks + [errands, Lane(log, deliverMails), pushes]
  }
}

/// Waits for one of `latches`, a knock or the time (nil: none), and takes the knocks.
///
/// - Returns: whether there were any.
@discardableResult
private func wait(
  atMost limit: Duration?, for latches: [Latch?], or knocks: KnockSocket?
) -> Bool {
  var polled = (latches.map { $0?.reader } + [knocks?.descriptor]).map {
    pollfd(fd: $0 ?? -1, events: Int16(POLLIN), revents: 0)
  }
  let milliseconds = limit.map { CInt(max(0, ($0 / .milliseconds(1)).rounded(.up))) }
  poll(&polled, nfds_t(polled.count), milliseconds ?? -1)
  return knocks?.answer() ?? false
}

/// Something that can be told once, by any thread.
package final class Flag: Sendable {
  private let value = Atomic(false)

  package var isSet: Bool { value.load(ordering: .acquiring) }
  package func set() { value.store(true, ordering: .releasing) }
}

/// A flag that `poll` can wait for: a pipe, closed where it is written when the flag is set.
private final class Latch: Sendable {
  let reader: CInt
  private let writer: CInt

  init() { (reader, writer) = makePipe() }
  deinit { close(reader) }

  /// Called once.
  func set() { close(writer) }

  var isSet: Bool {
    var polled = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
    return poll(&polled, 1, 0) == 1
  }
}

/// A pass on a thread of its own, so that a slow one keeps nobody waiting.
private final class RunningPass: Sendable {
  let end = Latch()
  private let success = Flag()

  var hasSucceeded: Bool { success.isSet }

  init(of companion: Companion, pollingAtMost limit: Duration) {
    let (end, success) = (end, success)
    pthread_detach(
      startThread {
        do {
          try companion.pass(pollingAtMost: limit)
          success.set()
        } catch {
          companion.log.error("the pass failed: \(error)")
        }
        end.set()
      })
  }
}

/// One kind of work, done whenever it is asked for, on a thread of its own: no mail waits for a fetch
/// that hangs.
private final class Lane: Sendable {
  private let thread: pthread_t
  private let writer: CInt

  init(_ log: Logger, _ work: @escaping @Sendable () throws -> Void) {
    let (reader, writer) = makePipe()
    _ = fcntl(writer, F_SETFL, O_NONBLOCK)
    self.writer = writer
    thread = startThread {
      var bytes = [UInt8](repeating: 0, count: 4096)
      while read(reader, &bytes, bytes.count) > 0 {
        do { try work() } catch { log.error("knocked in vain: \(error)") }
      }
      close(reader)
    }
  }

  /// What is done already is done again afterwards. Where the pipe is full, that has been said.
  func wake() { write(writer, [1], 1) }

  /// Returns when what it was woken for is done. Called once.
  func finish() {
    close(writer)
    pthread_join(thread, nil)
  }
}

/// Set by SIGTERM and SIGINT, which a thread takes (`sigwait`), and no other that starts after it.
private func stopSignal() -> Latch {
  let latch = Latch()
  var signals = stopSignals()
  pthread_sigmask(SIG_BLOCK, &signals, nil)
  pthread_detach(
    startThread {
      var signals = stopSignals()
      var signal: CInt = 0
      sigwait(&signals, &signal)
      latch.set()
    })
  return latch
}

private func stopSignals() -> sigset_t {
  var signals = sigset_t()
  sigemptyset(&signals)
  sigaddset(&signals, SIGTERM)
  sigaddset(&signals, SIGINT)
  return signals
}

private func makePipe() -> (reader: CInt, writer: CInt) {
  var ends: [CInt] = [0, 0]
  precondition(pipe(&ends) == 0, "no pipe")
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  return (ends[0], ends[1])
}

import Glibc
import Logging

extension Companion {
  /// Runs a pass on each interval, and does urgent work whenever it is woken, also during a pass,
  /// until SIGTERM or SIGINT. What is in hand is finished first. A pass that failed is soon repeated.
  package func watch(every interval: Duration, wakeSocket: WakeSocket?) {
    let stop = stopSignal()
    let work = UrgentWork(of: self)
    var nextPass = ContinuousClock.now
    var pass: RunningPass?
    while !stop.isSet {
      if let ended = pass, ended.end.isSet {
        if !ended.hasSucceeded { nextPass = min(nextPass, .now + .seconds(5)) }
        pass = nil
      }
      if pass == nil, ContinuousClock.now >= nextPass {
        nextPass = .now + interval
        pass = RunningPass(of: self, pollingAtMost: interval, work)
      } else {
        work.wake()
      }
      wait(
        atMost: pass == nil ? nextPass - .now : .seconds(1), for: [stop, pass?.end],
        or: wakeSocket)
    }
    stopping.set()
    if let pass { wait(atMost: nil, for: [pass.end], or: nil) }
    try? work.finish()  // each failure is in the log
  }

  /// Runs one pass, and does urgent work whenever it is woken meanwhile. SIGTERM and SIGINT end it
  /// when what is in hand is finished.
  ///
  /// - Returns: whether the pass did all its work.
  package func run(wakeSocket: WakeSocket?) -> Bool {
    let stop = stopSignal()
    let work = UrgentWork(of: self)
    // The next run polls the users that this one has no time for.
    let pass = RunningPass(of: self, pollingAtMost: min(settings.interval, .seconds(30)), work)
    while !pass.end.isSet {
      if stop.isSet { stopping.set() }
      let wasWoken = wait(
        atMost: .seconds(1), for: [pass.end, stopping.isSet ? nil : stop], or: wakeSocket)
      if wasWoken || !pass.end.isSet { work.wake() }
    }
    let isDone = (try? work.finish()) != nil  // each failure is in the log
    closeConnections()
    do { try recordObservations() } catch { log.error("What was seen is not recorded: \(error)") }
    return takeAlarm() == nil && isDone && pass.hasSucceeded
  }
}

/// A pass on a thread of its own, so that a slow one keeps nobody waiting.
private final class RunningPass: Sendable {
  let end = Latch()
  private let success = Flag()

  var hasSucceeded: Bool { success.isSet }

  init(of companion: Companion, pollingAtMost limit: Duration, _ work: UrgentWork) {
    let (end, success) = (end, success)
    pthread_detach(
      startThread {
        do {
          try companion.runRound(pollingAtMost: limit, work)
          success.set()
          companion.failures.noteSuccess(of: "The pass")
        } catch {
          companion.failures.note(error, of: "The pass")
          companion.writeMetrics()
        }
        end.set()
      })
  }
}

package import Base
import Glibc
import Logging

extension Companion {
  /// Runs a pass in each interval until SIGTERM or SIGINT, and does urgent work whenever it is
  /// woken, also during a pass. Finishes current work before it returns. Repeats a failed pass
  /// soon.
  ///
  /// - Parameters:
  ///   - stop: nil: the latch that SIGTERM and SIGINT set.
  ///   - stopLimit: time limit from the stop to the end.
  package func watch(
    every interval: Duration, wakeSocket: WakeSocket?, stop: Latch? = nil,
    stopLimit: Duration = Self.stopLimit
  ) {
    let stop = stop ?? stopSignal()
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
    noteStop()
    end(pass, work, by: clock.now() + stopLimit)
    storeEnd()
  }

  /// Runs one pass, and does urgent work whenever it is woken during the pass. SIGTERM and SIGINT
  /// end it after the current work.
  ///
  /// - Parameters:
  ///   - stop: nil: the latch that SIGTERM and SIGINT set.
  ///   - stopLimit: time limit from the stop to the end.
  /// - Returns: true if the pass and the urgent work did not fail.
  package func run(
    wakeSocket: WakeSocket?, stop: Latch? = nil, stopLimit: Duration = Self.stopLimit
  ) -> Bool {
    let stop = stop ?? stopSignal()
    let work = UrgentWork(of: self)
    // The next run polls the users for whom this one has no time.
    let pass = RunningPass(of: self, pollingAtMost: min(settings.interval, .seconds(30)), work)
    let passLimit = clock.now() + Self.longestPass
    while !pass.end.isSet, !stop.isSet, clock.now() < passLimit {
      let wasWoken = wait(atMost: .seconds(1), for: [pass.end, stop], or: wakeSocket)
      if wasWoken || !pass.end.isSet { work.wake() }
    }
    // New urgent work is accepted while slow work goes on, but not so long that the next pass is
    // late.
    let passEnd = clock.now()
    let deadline = passEnd + UrgentWork.longest
    while !stop.isSet, clock.now() < deadline,
      !work.waitUntilIdle(until: .now + .milliseconds(250))
    {
      if clock.now() < passEnd + .seconds(30), wakeSocket?.accept() == true { work.wake() }
    }
    if stop.isSet { noteStop() }
    let isDone = end(pass, work, by: stop.isSet ? clock.now() + stopLimit : deadline)
    closeConnections()
    do { try storeProblems() } catch {
      log.error("Cannot store the problems of this pass: \(error)")
    }
    storeEnd()
    return takeProblem() == nil && isDone && pass.hasSucceeded
  }

  private func storeEnd() {
    do { try noteEnd() } catch {
      // The next pass takes this process for one that has died.
      log.error("Cannot store that this companion ends: \(error)")
    }
  }

  /// Time limit for a pass, whose polls and deletions take half a minute or a little longer. Together with ``UrgentWork/longest`` it is less than the unit's `TimeoutStartSec`.
  private static let longestPass = Duration.seconds(150)
  /// Time from SIGTERM to the end, even if a service does not answer. All work has shorter limits.
  package static let stopLimit = Duration.seconds(9)

  private func noteStop() {
    stopping.set()
    log.info("Stopping: the companion finishes its current work")
  }

  /// Waits for the pass and for urgent work until `deadline`. Work that is unfinished then ends
  /// with the process: its leases expire, and the next pass repeats it.
  ///
  /// - Returns: true if all urgent work was done. Each failure is in the log.
  @discardableResult
  private func end(
    _ pass: RunningPass?, _ work: UrgentWork, by deadline: ContinuousClock.Instant
  ) -> Bool {
    if let pass {
      let rest = max(.zero, deadline - clock.now())
      wait(atMost: clock.realTime(of: rest), for: [pass.end], or: nil)
    }
    let urgent = Result { try work.finish(until: deadline) }
    var unfinished: String?
    if let pass, !pass.end.isSet { unfinished = "The pass has not ended in time" }
    if case .failure(let error as WakeableThread.Unfinished) = urgent { unfinished = "\(error)" }
    if let unfinished {
      log.error("\(unfinished): the companion exits, and the next pass repeats the work")
      // Not `exit`, which would free resources that threads still use.
      _exit(EXIT_FAILURE)
    }
    return (try? urgent.get()) != nil  // the worker has logged its error
  }
}

/// Runs a pass on its own thread, so that a slow pass does not delay urgent work.
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

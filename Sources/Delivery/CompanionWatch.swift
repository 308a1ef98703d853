import Glibc
import Logging

extension Companion {
  /// Runs a pass on each interval, and does urgent work whenever it is woken, also during a pass,
  /// until SIGTERM or SIGINT. What is in hand is finished first. A pass that failed is soon repeated.
  package func watch(every interval: Duration, wakeSocket: WakeSocket?) {
    let stop = stopSignal()
    let workers = startWorkers()
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
        for worker in workers { worker.wake() }
      }
      wait(
        atMost: pass == nil ? nextPass - .now : .seconds(1), for: [stop, pass?.end],
        or: wakeSocket)
    }
    stopping.set()
    if let pass { wait(atMost: nil, for: [pass.end], or: nil) }
    for worker in workers { worker.finish() }
  }

  /// Runs one pass, and does urgent work whenever it is woken meanwhile. SIGTERM and SIGINT end it
  /// when what is in hand is finished.
  ///
  /// - Returns: whether the pass did all its work.
  package func run(wakeSocket: WakeSocket?) -> Bool {
    let stop = stopSignal()
    let workers = startWorkers()
    // The next run polls the users that this one has no time for.
    let pass = RunningPass(of: self, pollingAtMost: min(settings.interval, .seconds(30)))
    while !pass.end.isSet {
      if stop.isSet { stopping.set() }
      let wasWoken = wait(
        atMost: .seconds(1), for: [pass.end, stopping.isSet ? nil : stop], or: wakeSocket)
      if wasWoken || !pass.end.isSet { for worker in workers { worker.wake() } }
    }
    for worker in workers { worker.finish() }
    // Of what a worker sent since the pass ended.
    closeConnections()
    do { try recordObservations() } catch { log.error("What was seen is not recorded: \(error)") }
    return takeAlarm() == nil && pass.hasSucceeded
  }

  /// Workers, to be finished in this order: what a job finds may be delivered.
  ///
  /// Banks have workers of their own, because a slow bank is waited for. These start at once, because
  /// a pass does none of their jobs.
  private func startWorkers() -> [Worker] {
    let deliveries = senders.map { sender in
      Worker("deliveries", log) { try sender.send(waiting: false) }
    }
    let others = jobs.only(.others)
    let jobWorker = Worker("jobs", log) {
      defer { for worker in deliveries { worker.wake() } }
      try others.run()
    }
    let ofBanks = jobs.only(.banks)
    let banks = (1...4).map { _ in Worker("banks", log) { try ofBanks.run() } }
    for bank in banks { bank.wake() }
    return banks + [jobWorker, Worker("mails", log) { try mails.run() }] + deliveries
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
          companion.log.error("The pass failed: \(error)")
          companion.writeMetrics()
        }
        end.set()
      })
  }
}

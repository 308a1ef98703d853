import Glibc
import Store

extension Context {
  /// Has the companion do a job, and waits for its result. Another thread may run meanwhile.
  ///
  /// - Parameter account: for whom it is done; nil: for no account.
  /// - Returns: the result as JSON.
  /// - Throws: ``Failure/busy`` when too many requests wait already; ``Failure/overdue`` at the
  ///   deadline (the job is still done, unless it ends with its request); ``Failure/serverError``
  ///   where the companion has given it up.
  func run(
    _ kind: Job.Kind, _ request: [UInt8], of account: String? = nil
  ) throws -> [UInt8] {
    guard beginWaiting() else { throw Failure.busy }
    let id = try records.jobs.post(kind, request, of: account)
    wakeCompanion()
    let deadline = ContinuousClock.now + waitLimit
    var pause: useconds_t = 5_000
    while ContinuousClock.now < deadline {
      usleep(pause)
      pause = min(pause * 2, 80_000)
      if let result = try result(of: id) { return result }
    }
    // Either the job is withdrawn, or it has just been done.
    if kind.endsWithItsRequest, try !records.jobs.withdraw(id), let result = try result(of: id) {
      return result
    }
    throw Failure.overdue
  }

  /// - Returns: nil while the job is open.
  private func result(of id: String) throws -> [UInt8]? {
    switch try records.jobs.outcome(of: id) {
    case .done(let result): result
    case .dead: throw Failure.serverError
    case .open: nil
    }
  }
}

extension Failure {
  static let busy = Failure(
    status: 503, message: "Too many requests are waiting", fields: [("Retry-After", "5")])

  static let overdue = Failure(
    status: 504, message: "No outcome within 10 seconds; it is still worked on")
}

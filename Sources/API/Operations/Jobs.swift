import Glibc
import Store

extension Context {
  /// Gives the companion a job and waits for its result, in a place of `owner`.
  ///
  /// - Parameter owner: The account or key of the request.
  /// - Throws: ``Failure/busy`` if too many requests wait already, of this owner or of all; errors of
  ///   ``runInPlace(_:_:of:)``.
  func run(
    _ kind: Job.Kind, _ request: [UInt8], for owner: String, of account: String? = nil
  ) throws -> [UInt8] {
    guard takePlace(for: kind, of: owner) else { throw Failure.busy }
    defer { leave(kind, of: owner) }
    return try runInPlace(kind, request, of: account)
  }

  /// Gives the companion a job and waits for its result. The caller has a place (``takePlace(for:of:)``), so another thread may
  /// run meanwhile.
  ///
  /// - Parameter account: The account of the job; nil for no account.
  /// - Returns: The result as JSON.
  /// - Throws: ``Failure/overdue`` at the deadline (the companion still does the job, unless its kind ends with the request);
  ///   ``Failure/serverError`` if the companion has given up the job.
  func runInPlace(
    _ kind: Job.Kind, _ request: [UInt8], of account: String? = nil
  ) throws -> [UInt8] {
    let id = try records.jobs.post(kind, request, of: account)
    wakeCompanion()
    let deadline = ContinuousClock.now + waitLimit
    var pause: useconds_t = 5_000
    while ContinuousClock.now < deadline {
      usleep(pause)
      pause = min(pause * 2, 80_000)
      if let result = try result(of: id) { return result }
    }
    // If the job cannot be withdrawn, it has just ended.
    if kind.endsWithItsRequest, try !records.jobs.withdraw(id), let result = try result(of: id) {
      return result
    }
    throw Failure.overdue
  }

  /// Returns the result of a finished job; nil while the job is open.
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

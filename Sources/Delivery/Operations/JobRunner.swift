import Base
import Logging
import Store

/// Handler for the jobs of one kind.
struct JobHandler: Sendable {
  let kind: Job.Kind
  /// Does the job and records its end.
  ///
  /// Returns false if no request waits for the result any more, or if another pass has the job.
  let perform: @Sendable (Job) throws -> Bool
}

/// Runs the jobs of several kinds.
struct JobRunner: Sendable {
  let database: Database
  let handlers: [JobHandler]
  let log: Logger
  let stopping: Flag
  var problemLog = ProblemLog()
  var clock = LimitClock.system

  /// A runner for the kinds of one worker.
  func only(_ worker: Job.Kind.Worker) -> JobRunner {
    JobRunner(
      database: database, handlers: handlers.filter { $0.kind.worker == worker }, log: log,
      stopping: stopping, problemLog: problemLog, clock: clock)
  }

  /// Time after which no new job is begun.
  private static let time = Duration.seconds(60)

  /// Does all open jobs, in the order of their age, the oldest first.
  ///
  /// - Throws: if the database does not answer.
  func run() throws {
    let records = database.records(at: .now(), from: .companion)
    let end = clock.now() + Self.time
    while !stopping.isSet, clock.now() < end {
      let job = try records.jobs.claim(of: handlers.map(\.kind), as: newClaimID())
      guard let job, let handler = handlers.first(where: { $0.kind == job.kind }) else { return }
      var metadata: Logger.Metadata = [
        "job": "\(job.id)", "kind": "\(job.kind.name)", "attempts": "\(job.attempts)",
      ]
      do {
        let isInTime = try handler.perform(job)
        problemLog.tally(.jobs, "\(job.kind.name) \(isInTime ? "done" : "late")")
        log.info(isInTime ? "Job done" : "Job done too late", metadata: metadata)
      } catch let error where !Database.isUnavailable(error) {
        // The job is claimed again when its lease ends, and given up after the third time.
        problemLog.tally(.jobs, "\(job.kind.name) failed")
        metadata["error"] = "\(error)"
        log.error("Job failed", metadata: metadata)
      }
    }
  }
}

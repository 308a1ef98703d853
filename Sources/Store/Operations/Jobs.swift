import Base
import Cryptography
import MariaDB

/// Work for the companion whose outcome a request waits for.
package struct Job: Sendable {
  /// The kind of work. Each room declares its own kinds.
  package struct Kind: Hashable, Sendable {
    /// The worker that does it: a slow bank or push service delays only the requests that wait for
    /// one.
    package enum Worker: Sendable { case banks, pushTests, others }

    /// The word in the column `kind`.
    package let name: String
    package let worker: Worker
    /// Whether the job is withdrawn once its request was answered without an outcome.
    package let endsWithItsRequest: Bool

    init(_ name: String, worker: Worker = .others, endsWithItsRequest: Bool = false) {
      self.name = name
      self.worker = worker
      self.endsWithItsRequest = endsWithItsRequest
    }
  }

  package let id: String
  package let kind: Kind
  /// JSON: the work to do.
  package let request: [UInt8]
  /// The claim of the pass that holds it.
  package let claimID: String
  /// Attempts, including this one.
  package let attempts: Int64
  /// The id of the request that waits for it.
  package let requestID: String
}

/// The outcome of a job.
package enum JobOutcome: Sendable {
  /// JSON
  case done([UInt8])
  /// Given up without a result.
  case dead
  /// Not done yet.
  case open
}

package struct Jobs: Sendable {
  let records: Records

  /// Writes a job for the companion.
  ///
  /// - Parameter account: deleting this account deletes the job; nil: no account.
  /// - Throws: ``Refusal/sessionEnded`` if the account is gone.
  /// - Returns: its id.
  package func post(
    _ kind: Job.Kind, _ request: [UInt8], of account: String? = nil
  ) throws -> String {
    let id = timeOrderedUUID(milliseconds: records.now.milliseconds)
    let written = try records.write { transaction in
      try transaction.connection.execute(
        """
        INSERT INTO jobs (id, kind, request, request_id, account_id)
        SELECT ?, ?, ?, ?, a.id FROM (SELECT 1) AS one LEFT JOIN accounts a ON a.id = ?
        WHERE ? IS NULL OR a.id IS NOT NULL
        """,
        [
          .text(id), .text(kind.name), .bytes(request),
          .text(transaction.origin.storedRequestID), .text(account), .text(account),
        ])
    }
    guard written == 1 else { throw Refusal.sessionEnded }
    return id
  }

  package func outcome(of id: String) throws -> JobOutcome {
    try records.read { transaction in
      try transaction.connection.row(
        "SELECT state, result FROM jobs WHERE id = ?", [.text(id)]
      ) { row in
        switch row.text(0) {
        case "open": .open
        case "done": .done(row.bytes(1))
        default: .dead
        }
      }
    } ?? .dead  // deleted with its account
  }

  /// Gives up a job that no request waits for any more.
  ///
  /// - Returns: false if it has already ended.
  package func withdraw(_ id: String) throws -> Bool {
    try records.transaction { transaction in try transaction.jobs.giveUp(id) }
  }

  /// Claims the job of one of `kinds` that has waited longest, for one minute. The claim is committed
  /// before the work begins, and counts as an attempt; after the third the job is given up, also by a
  /// claim of other kinds.
  ///
  /// Locks each job by its id alone, and waits for no other claim: it takes the next job.
  ///
  /// - Parameter claimID: a UUID, made for this claim alone.
  package func claim(of kinds: [Job.Kind], as claimID: String) throws -> Job? {
    let due = try records.read { transaction in try transaction.jobs.due(of: kinds) }
    return try records.lockingRows { transaction in
      for id in due {
        guard let job = try transaction.jobs.lock(id, of: kinds, as: claimID) else { continue }
        if job.attempts <= 3 { return try transaction.jobs.claim(job) ? job : nil }
        try transaction.jobs.giveUp(id)
      }
      return nil
    }
  }

  /// Records the result of a job, if the claim still holds and the job is still open.
  ///
  /// - Returns: false if another pass has the lease, or the job was given up; then nothing is
  ///   written.
  package func finish(_ job: Job, with result: [UInt8]) throws -> Bool {
    try finish(job, with: result) { _ in }
  }

  /// Like ``finish(_:with:)``; runs `storing` in the same transaction.
  ///
  /// By the index of claims it would lock gaps, and wait for claims that wait for it.
  func finish(
    _ job: Job, with result: [UInt8], storing: (borrowing Transaction) throws -> Void
  ) throws -> Bool {
    try records.transaction { transaction in
      let finished = try transaction.connection.execute(
        """
        UPDATE jobs FORCE INDEX (PRIMARY) SET state = 'done', result = ?, finished_at = UTC_TIMESTAMP(3)
        WHERE id = ? AND claim_id = ? AND state = 'open'
        """,
        [.bytes(result), .text(job.id), .text(job.claimID)])
      guard finished == 1 else { return false }
      try storing(transaction)
      return true
    }
  }

  /// The kinds of at most `limit` jobs that are due, the longest waiting first.
  package func dueKinds(limit: Int) throws -> [String] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT kind FROM jobs WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3)
        ORDER BY due_at LIMIT ?
        """,
        [.integer(Int64(limit))]
      ) { row in row.text(0) }
    }
  }
}

extension Records {
  package var jobs: Jobs { Jobs(records: self) }
}

/// Statements on `jobs`.
struct JobStatements: ~Copyable {
  let transaction: Transaction

  /// The ids of jobs that are due, of `kinds` or to be given up, the longest waiting first: more than there
  /// are passes at once.
  fileprivate func due(of kinds: [Job.Kind]) throws(DatabaseError) -> [String] {
    try transaction.connection.rows(
      """
      SELECT id FROM jobs
      WHERE state = 'open' AND due_at <= UTC_TIMESTAMP(3)
        AND (attempts >= 3 OR FIND_IN_SET(kind, ?) > 0)
      ORDER BY due_at LIMIT 50
      """,
      [.text(kinds.map(\.name).joined(separator: ","))]
    ) { row in row.text(0) }
  }

  /// The job, with the attempt that the claim adds; nil if it is no longer due or another transaction holds it.
  fileprivate func lock(
    _ id: String, of kinds: [Job.Kind], as claimID: String
  ) throws(DatabaseError) -> Job? {
    try transaction.connection.row(
      """
      SELECT id, kind, request, attempts + 1, request_id FROM jobs
      WHERE id = ? AND state = 'open' AND due_at <= UTC_TIMESTAMP(3) FOR UPDATE SKIP LOCKED
      """,
      [.text(id)]
    ) { row in
      let name = row.text(1)
      return Job(
        id: row.text(0),
        kind: kinds.first { $0.name == name } ?? Job.Kind(name),  // another kind is given up
        request: row.bytes(2), claimID: claimID, attempts: row.integer(3), requestID: row.text(4))
    }
  }

  fileprivate func claim(_ job: Job) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE jobs
      SET claim_id = ?, attempts = attempts + 1, due_at = UTC_TIMESTAMP(3) + INTERVAL 1 MINUTE
      WHERE id = ? AND state = 'open'
      """,
      [.text(job.claimID), .text(job.id)]) == 1
  }

  /// - Returns: false if the job has already ended.
  @discardableResult
  fileprivate func giveUp(_ id: String) throws(DatabaseError) -> Bool {
    try transaction.connection.execute(
      """
      UPDATE jobs SET state = 'dead', finished_at = UTC_TIMESTAMP(3)
      WHERE id = ? AND state = 'open'
      """,
      [.text(id)]) == 1
  }
}

extension Transaction {
  fileprivate var jobs: JobStatements { JobStatements(transaction: Transaction(sharing: self)) }
}

import Base
import Foundation
import MariaDB
import Support
import Testing

@testable import Store

/// The locks of claims: several passes claim, finish and withdraw work at the same time.
@Suite struct ClaimLockTests {
  /// Calls `body` with a database on a server of its own, whose counters no other test changes.
  private func withOwnServer(_ body: (MariaDBServer, Database) throws -> Void) throws {
    let server = MariaDBServer()
    server.createDatabase(
      "switchboard", schema: try String(contentsOf: projectSchema, encoding: .utf8))
    let settings = server.settings(database: "switchboard")
    try body(server, Database(settings.patient, mailKeys: TestStore.mailKeys))
  }

  private func expectNoDeadlock(on server: MariaDBServer) {
    let row = server.run("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'", database: "switchboard")
    let status = server.run("SHOW ENGINE INNODB STATUS", database: "switchboard")
    let deadlock = status.components(separatedBy: "LATEST DETECTED DEADLOCK").last ?? ""
    #expect(row.split(whereSeparator: \.isWhitespace).last == "0", "\(deadlock.prefix(600))")
  }

  /// Runs each of `bodies` on a thread of its own, and waits for all.
  private func together(_ bodies: [@Sendable () throws -> Void]) {
    let group = DispatchGroup()
    for body in bodies {
      group.enter()
      Thread {
        do { try body() } catch { Issue.record(error) }
        group.leave()
      }.start()
    }
    waiting(for: "the end of \(bodies.count) threads") { group.wait() }
  }

  @Test func noDeadlockBetweenClaimsAndEndsOfJobs() throws {
    try withOwnServer { server, database in
      let records = database.records(at: .now(), from: .companion)
      let worker: @Sendable () throws -> Void = {
        for number in 0..<150 {
          let id = try records.jobs.post(.turnCheck, Array("{}".utf8))
          if number.isMultiple(of: 3) { _ = try records.jobs.withdraw(id) }
          if let job = try records.jobs.claim(of: [.turnCheck], as: UUID().uuidString) {
            _ = try records.jobs.finish(job, with: Array("{}".utf8))
          }
        }
      }
      together(Array(repeating: worker, count: 6))
      while let job = try records.jobs.claim(of: [.turnCheck], as: UUID().uuidString) {
        _ = try records.jobs.finish(job, with: Array("{}".utf8))
      }
      let ends = server.run(
        "SELECT COUNT(*), SUM(state = 'done') >= 600, SUM(attempts > 1) FROM jobs",
        database: "switchboard")
      #expect(ends.split(whereSeparator: \.isWhitespace) == ["900", "1", "0"])
      expectNoDeadlock(on: server)
    }
  }

  @Test func noDeadlockBetweenClaimsAndOutcomesOfMails() throws {
    try withOwnServer { server, database in
      server.run(
        """
        INSERT INTO outbox (id, kind, recipient, sealed, due_at, expires_at, request_id)
        SELECT UUID(), 'login_code', CONCAT('mail-', seq), 'sealed', UTC_TIMESTAMP(3) - INTERVAL 1 SECOND,
          UTC_TIMESTAMP(3) + INTERVAL IF(seq % 9 = 0, -1, 300) SECOND, 'r' FROM seq_1_to_900
        """, database: "switchboard")
      let mails = database.records(at: .now(), from: .companion).mails
      let worker: @Sendable () throws -> Void = {
        while let mail = try mails.claim(limit: 1, as: UUID().uuidString).first {
          _ = try mails.record(.delivered, of: mail)
        }
      }
      let sweeper: @Sendable () throws -> Void = {
        for _ in 0..<20 { _ = try mails.expire() }
      }
      together(Array(repeating: worker, count: 6) + [sweeper, sweeper])
      let ends = server.run(
        "SELECT SUM(state = 'delivered'), SUM(state = 'dead'), SUM(attempts > 1) FROM outbox",
        database: "switchboard")
      #expect(ends.split(whereSeparator: \.isWhitespace) == ["800", "100", "0"])
      expectNoDeadlock(on: server)
    }
  }
}

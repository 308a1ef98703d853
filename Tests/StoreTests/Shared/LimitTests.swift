import Base
import Foundation
import MariaDB
import Support
import Testing

@testable import Store

@Suite struct LimitTests {
  private static let limit = Limit(name: "test", allowed: 10, window: .seconds(60))
  private static let start = Timestamp(seconds: 1_795_000_000)

  /// Hits the limit; nil if allowed, otherwise the error with the waiting time.
  private static func hit(
    _ database: Database, _ subject: String = "a", limit: Limit = limit, at now: Timestamp = start
  ) throws -> RateLimited? {
    do {
      let records = database.records(at: now, from: .companion)
      _ = try records.write { transaction in try transaction.limits.count(limit, of: subject) }
      return nil
    } catch let refusal as RateLimited {
      return refusal
    }
  }

  private static func exhaust(_ database: Database) throws {
    for _ in 0..<10 { #expect(try hit(database) == nil) }
  }

  /// With few rows, MariaDB reads them all for DISTINCT; with many rows, that depends on its estimates.
  @Test func namesAreFoundWithoutReadingAllCounts() throws {
    func rowsRead(_ transaction: borrowing Transaction) throws -> Int {
      try transaction.connection.rows("SHOW SESSION STATUS LIKE 'Handler_read_next'") { row in
        Int(row.text(1)) ?? 0
      }.reduce(0, +)
    }
    try withStore { store throws in
      store.sql(
        """
        INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
          SELECT IF(seq = 1, 'one', 'many'), seq, UTC_TIMESTAMP(3), 60, 1, 1 FROM seq_1_to_200;
        """)
      let records = store.records("responder")
      for _ in 1...3 {
        let (names, read) = try records.transaction { transaction in
          let before = try rowsRead(transaction)
          let names = try transaction.namesOfLimits
          return (names, try rowsRead(transaction) - before)
        }
        #expect(names == ["many", "one"])
        #expect(read < 10)
      }
    }
  }

  @Test func sixtyFourHitsAtOncePassAsOftenAsAllowed() throws {
    try withStore { store throws in
      let database = store.database("responder")
      let refusals = try inParallel(64) { _ in try Self.hit(database) }
      #expect(refusals.filter { $0 == nil }.count == 10)
      #expect(
        refusals.compactMap { $0 }
          == Array(repeating: RateLimited(retryAfter: .seconds(60)), count: 54))
    }
  }

  @Test func sixtyFourTransactionsAtOnceCommitAsOftenAsAllowed() throws {
    try withStore { store throws in
      let database = store.database("responder")
      let refusals = try inParallel(64) { number -> RateLimited? in
        let records = database.records(
          at: Self.start, from: Origin(requestID: "r", address: "a"))
        do {
          try records.transaction { transaction in
            try transaction.limits.count(Self.limit, of: "a")
            try transaction.audit.write(.logout, detail: "\(number)")
          }
          return nil
        } catch let refusal as RateLimited {
          return refusal
        }
      }
      #expect(refusals.filter { $0 == nil }.count == 10)
      #expect(store.sql("SELECT COUNT(DISTINCT detail) FROM audit_log") == "10")
      #expect(store.sql("SELECT hits FROM rate_limits") == "10")
    }
  }

  @Test func theWindowBeginsWithItsFirstHit() throws {
    try withStore { store throws in
      let database = store.database("responder")
      try Self.exhaust(database)
      for (elapsed, rest) in [(0, 60), (1, 59), (59, 1)] {
        #expect(
          try Self.hit(database, at: Self.start + .seconds(elapsed))
            == RateLimited(retryAfter: .seconds(rest)))
      }
      #expect(
        try Self.hit(database, at: Self.start + .milliseconds(59_999))
          == RateLimited(retryAfter: .seconds(1)))
      let next = Self.start + .seconds(60)
      for _ in 0..<10 { #expect(try Self.hit(database, at: next) == nil) }
      #expect(
        try Self.hit(database, at: next + .seconds(59))
          == RateLimited(retryAfter: .seconds(1)))
    }
  }

  @Test func subjectsAndLimitsAreCountedSeparately() throws {
    try withStore { store throws in
      let database = store.database("responder")
      try Self.exhaust(database)
      for subject in ["b", "A", "a ", "á", String(repeating: "x", count: 400)] {
        #expect(try Self.hit(database, subject) == nil)
      }
      let other = Limit(name: "other", allowed: 10, window: .seconds(60))
      #expect(try Self.hit(database, limit: other) == nil)
    }
  }

  /// Otherwise the limit would last longer than its window, by as much as the clock was set back.
  @Test func afterTheClockWasSetBackTheWindowBeginsNow() throws {
    try withStore { store throws in
      let database = store.database("responder")
      try Self.exhaust(database)
      #expect(
        try Self.hit(database, at: Self.start - .seconds(3600))
          == RateLimited(retryAfter: .seconds(60)))
      #expect(store.sql("SELECT window_started_at FROM rate_limits") == "2026-11-18 10:06:40.000")
    }
  }

  /// The transaction of a refused hit is rolled back. The refusal moves the window in another one.
  @Test func theRefusalMovesAWindowThatBeginsInTheFuture() throws {
    try withStore { store throws in
      let database = store.database("responder")
      try Self.exhaust(database)
      let records = database.records(at: Self.start - .seconds(3600), from: .companion)
      do {
        try records.transaction { transaction in
          _ = try transaction.limits.count(Self.limit, of: "a")
        }
      } catch let refusal as RateLimited {
        try refusal.writeAudit(in: records)
      }
      #expect(
        store.sql("SELECT hits, window_started_at FROM rate_limits")
          == "10\t2026-11-18 10:06:40.000")
    }
  }

  @Test func administratorsSeeWhoIsLimited() throws {
    try withStore { store throws in
      let database = store.database("responder")
      for _ in 0..<11 { _ = try Self.hit(database, at: .now()) }
      _ = try Self.hit(database, "b", at: .now())
      for _ in 0..<11 { _ = try Self.hit(database, "over", at: .now() - .seconds(120)) }
      #expect(
        store.sql("SELECT name, subject, hits, allowed FROM rate_limited_callers")
          == "test\ta\t11\t10")
    }
  }
}

import Base
import Foundation
import MariaDB
import Testing

@testable import Store

@Suite struct LimitTests {
  private static let limit = Limit(name: "test", allowed: 10, window: .seconds(60))
  private static let start = Timestamp(seconds: 1_795_000_000)

  /// Whether a hit of `subject` at `now` is within the limit, or how long until it is.
  private static func hit(
    _ database: Database, _ subject: String = "a", limit: Limit = limit, at now: Timestamp = start
  ) throws -> Refusal? {
    do {
      _ = try database.pool.write { try $0.count(limit, of: subject, at: now) }
      return nil
    } catch let refusal as Refusal {
      return refusal
    }
  }

  private static func exhaust(_ database: Database) throws {
    for _ in 0..<10 { #expect(try hit(database) == nil) }
  }

  @Test func ofSixtyFourHitsAtOnceExactlyTheAllowedPass() throws {
    try withStore { store throws in
      let database = store.database("responder")
      let refusals = try inParallel(64) { _ in try Self.hit(database) }
      #expect(refusals.filter { $0 == nil }.count == 10)
      #expect(
        refusals.compactMap { $0 }
          == Array(repeating: .rateLimited(retryAfter: .seconds(60)), count: 54))
    }
  }

  @Test func ofSixtyFourTransactionsAtOnceExactlyTheAllowedCommit() throws {
    try withStore { store throws in
      let database = store.database("responder")
      let refusals = try inParallel(64) { number -> Refusal? in
        do {
          try database.pool.transaction { connection in
            try connection.count(Self.limit, of: "a", at: Self.start)
            try connection.audit(
              .logout, detail: "\(number)", from: Origin(requestID: "r", address: "a"),
              at: Self.start)
          }
          return nil
        } catch let refusal as Refusal {
          return refusal
        }
      }
      #expect(refusals.filter { $0 == nil }.count == 10)
      #expect(store.sql("SELECT COUNT(DISTINCT detail) FROM audit_log") == "10")
      #expect(store.sql("SELECT hits FROM rate_limits") == "10")
    }
  }

  @Test func theWindowBeginsWithItsFirstHitAndEndsByTheClock() throws {
    try withStore { store throws in
      let database = store.database("responder")
      try Self.exhaust(database)
      for (elapsed, rest) in [(0, 60), (1, 59), (59, 1)] {
        #expect(
          try Self.hit(database, at: Self.start + .seconds(elapsed))
            == .rateLimited(retryAfter: .seconds(rest)))
      }
      #expect(
        try Self.hit(database, at: Self.start + .milliseconds(59_999))
          == .rateLimited(retryAfter: .seconds(1)))
      let next = Self.start + .seconds(60)
      for _ in 0..<10 { #expect(try Self.hit(database, at: next) == nil) }
      #expect(
        try Self.hit(database, at: next + .seconds(59))
          == .rateLimited(retryAfter: .seconds(1)))
    }
  }

  @Test func subjectsAndLimitsAreCountedApart() throws {
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

  @Test func aClockThatGoesBackNeitherEndsNorRenewsTheWindow() throws {
    try withStore { store throws in
      let database = store.database("responder")
      try Self.exhaust(database)
      #expect(
        try Self.hit(database, at: Self.start - .seconds(3600))
          == .rateLimited(retryAfter: .seconds(3660)))
      #expect(store.sql("SELECT window_started_at FROM rate_limits") == "2026-11-18 11:06:40.000")
    }
  }

  @Test func administratorsSeeWhoIsLimitedNow() throws {
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

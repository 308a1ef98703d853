import Base
import MariaDB
import Testing

@testable import Store

/// The course of a purge: slices, its time limit, failing rules, and long walks.
extension PurgeTests {
  private static let manyOldRows = """
    INSERT INTO audit_log (at, event, request_id, address)
      SELECT '2020-01-01', 'old', 'r', 'a' FROM seq_1_to_25;
    INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
      SELECT 'n', seq, '2020-01-01', 60, 1, 1 FROM seq_1_to_15;
    """

  @Test func aPurgeGoesOnUntilNothingIsLeft() throws {
    try withStore { store throws in
      insert(store, Self.manyOldRows)
      let report = try report(store, slice: 10)
      #expect(report.deleted == 40)
      #expect(report.isComplete)
    }
  }

  @Test func aPurgeWhoseTimeIsOverHasTakenASliceOfEachKind() throws {
    try withStore { store throws in
      insert(store, Self.manyOldRows)
      var looks = 0
      let report = try report(store, slice: 10) {
        looks += 1
        return looks == 2
      }
      #expect(report.deleted == 20)
      #expect(!report.isComplete)
    }
  }

  /// Another transaction locks a row that the purge must delete.
  @Test func aRuleThatFailsLeavesTheOthersAlone() throws {
    try withStore { store throws in
      insert(store, Self.manyOldRows)
      let holder = try Connection(store.root)
      _ = try holder.execute("SET autocommit = 0")
      _ = try holder.execute("SELECT * FROM audit_log FOR UPDATE")
      let report = try report(store, slice: 10, lockTimeout: .seconds(1))
      #expect(report.failures.count == 1)
      #expect((report.failures.first as? DatabaseError)?.code == .lockWaitTimeout)
      #expect(!report.isComplete)
      #expect(report.deleted == 15)
      _ = try holder.execute("SET autocommit = 1")  // commits
      #expect(try purge(store) == 25)
    }
  }

  /// More remaining rows than one purge reads stand before a row that must be deleted.
  @Test func rowsThatStayHideNoneThatGo() throws {
    try withStore { store throws in
      insert(
        store,
        """
        INSERT INTO notifications (id, kind, event_key, collapse_id, expires_at, created_at)
          SELECT UUID(), 'turn', seq, seq, NOW(3), NOW(3) - INTERVAL 2 DAY - INTERVAL 6000 - seq SECOND
          FROM seq_1_to_6000;
        INSERT INTO deliveries (id, notification_id, shard, token, state, finished_at)
          SELECT UUID(), id, 0, 't', 'dead', NOW(3) FROM notifications WHERE event_key < 6000;
        """)
      var deleted = 0
      var purges = 0
      while deleted == 0, purges < 3 {
        deleted += try purge(store)
        purges += 1
      }
      #expect(deleted == 1 && purges == 2)
      #expect(store.column("SELECT COUNT(*) FROM notifications") == ["5999"])
      // Begins again at the start of the table.
      store.sql("DELETE FROM deliveries")
      for _ in 0..<2 { deleted += try purge(store) }
      #expect(deleted == 6000)
    }
  }
}

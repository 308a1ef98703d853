import Testing

@testable import Store

/// The rows that are closed after a restore.
@Suite struct RestoredTests {
  /// A table with a column `spent_at` holds single-use values.
  @Test func everyTableOfWhatCanBeSpentIsClosed() throws {
    try withStore { store throws in
      let tables = store.column(
        """
        SELECT TABLE_NAME FROM information_schema.COLUMNS
        WHERE TABLE_SCHEMA = DATABASE() AND COLUMN_NAME = 'spent_at'
        """)
      #expect(tables.count >= 7)
      let statements = Room.all.flatMap(\.whenRestored).map { "\($0)" }
      for table in tables {
        #expect(statements.contains { $0.hasPrefix("UPDATE \(table) ") }, "\(table)")
      }
    }
  }
}

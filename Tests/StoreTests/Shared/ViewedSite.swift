import Support
import Testing

/// A site at a fixed moment by the clock of the database's session, and what its views show then: so that tests can
/// have rows that expire exactly now.
struct ViewedSite {
  let store: TestStore

  /// The moment, and one a millisecond later.
  static let now = "'2026-11-18 12:00:00.000'"
  static let justAfter = "'2026-11-18 12:00:00.001'"
  static let justBefore = "'2026-11-18 11:59:59.999'"
  static let dayAgo = "'2026-11-17 12:00:00.000'"
  static let justUnderADayAgo = "'2026-11-17 12:00:00.001'"
  static let midnight = "'2026-11-18 00:00:00.000'"
  static let justBeforeMidnight = "'2026-11-17 23:59:59.999'"

  /// A UUID that ends with `number`.
  static func id(_ number: Int) -> String {
    "'00000000-0000-4000-8000-0000000000\(number < 10 ? "0" : "")\(number)'"
  }

  /// A token of an Apple device.
  static func token(_ letter: Character) -> String { "'\(String(repeating: letter, count: 64))'" }

  /// Two accounts with three devices and one, and an account without a device. The devices' ids, phones and names sort differently.
  static let people = """
    INSERT INTO accounts (id, email, name, username, wallet_id, created_at) VALUES
      (\(id(1)), 'ann@example.org', 'Ann', 'ann', 'wsim_AAAAAAAAAAAA', '2026-11-01'),
      (\(id(2)), 'bob@example.org', 'Bob', 'bob', 'wsim_BBBBBBBBBBBB', '2026-11-02'),
      (\(id(3)), 'cid@example.org', 'Cid', 'cid', 'wsim_CCCCCCCCCCCC', '2026-11-03');
    INSERT INTO devices (id, account_id, client_device_id, name, platform, created_at, last_used_at, revoked_at) VALUES
      (\(id(11)), \(id(1)), 'p1', 'Phone', 'ios', '2026-11-01', '2026-11-01', NULL),
      (\(id(12)), \(id(1)), 'p2', 'Old', 'ios', '2026-11-01', '2026-11-01', '2026-11-02'),
      (\(id(13)), \(id(1)), 'p0', 'Mac', 'macos', '2026-11-01', '2026-11-01', NULL),
      (\(id(14)), \(id(2)), 'p4', 'Pixel', 'android', '2026-11-01', '2026-11-01', NULL);
    """

  /// Executes SQL at that moment.
  @discardableResult
  func sql(_ statements: String) -> String {
    store.sql(
      """
      SET time_zone = '+00:00'; SET timestamp = UNIX_TIMESTAMP(\(Self.now));
      \(statements)
      """)
  }

  /// Expects that a view shows exactly `lines`, with a space between two columns.
  func expect(
    _ view: String, _ columns: String, _ lines: [String], sortedBy order: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let sorting = order.map { " ORDER BY \($0)" } ?? ""
    let shown = sql("SELECT \(columns) FROM \(view)\(sorting)")
      .split(separator: "\n").map { String($0).replacing("\t", with: " ") }
    #expect(shown == lines, "\(view)", sourceLocation: sourceLocation)
  }
}

/// Calls `body` with a site that has ``ViewedSite/people`` and the rows of `statements`.
func withViewedSite(_ statements: String, _ body: (ViewedSite) throws -> Void) throws {
  try withStore { store throws in
    let site = ViewedSite(store: store)
    site.sql(ViewedSite.people + "\n" + statements)
    try body(site)
  }
}

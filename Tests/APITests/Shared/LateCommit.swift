import Foundation
import MariaDB
import Support
import Testing

extension TestApplication {
  /// The answer to a request that has read rows when another transaction commits a change of them.
  ///
  /// A transaction that prepares a statement runs again and would read the change: requests like
  /// this one must have run before, if they read the rows in the same transaction.
  ///
  /// - Parameter change: the statement of the other transaction. The request must wait for its locks.
  func answer(
    whileCommitting change: StaticString, to request: @escaping @Sendable () -> Answer
  ) throws -> Answer {
    let isChanged = DispatchSemaphore(value: 0)
    let answers = try inParallel(2) { [self] number -> Answer? in
      if number == 0 {
        waiting(for: "the change of the other transaction") { isChanged.wait() }
        return request()
      }
      let connection: Connection
      do {
        defer { isChanged.signal() }
        connection = try Connection(root)
        _ = try connection.execute("SET autocommit = 0")
        _ = try connection.execute(change)
      }
      wait(for: "a transaction that waits for a lock") { isWaitingForALock }
      _ = try connection.execute("COMMIT")
      return nil
    }
    return answers[0]!
  }

  /// Whether a transaction waits for a lock of a row.
  ///
  /// `information_schema.INNODB_TRX` is a copy, which MariaDB renews only if nobody has read it for
  /// 100 ms.
  private var isWaitingForALock: Bool {
    sql("SHOW ENGINE INNODB STATUS").components(separatedBy: "of table `\(root.database)`.")
      .dropFirst().contains { $0.prefix { $0 != "\\" }.hasSuffix(" waiting") }
  }
}

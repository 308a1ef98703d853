import Synchronization

/// Statements that transactions have prepared after their first statement. Later transactions with
/// the same first statement prepare them before they begin: on each new connection, and before any
/// row is locked.
package final class LearnedStatements: Sendable {
  package static let ofThisProcess = LearnedStatements()

  /// Keyed by the address of the first statement; in the order in which they were learned.
  private let later = Mutex<[UInt: [StaticString]]>([:])

  package init() {}

  /// The statements after `first`, without the `count` that were learned first.
  func after(_ first: StaticString, from count: Int) -> ArraySlice<StaticString> {
    later.withLock { later in later[first.address]?[count...] ?? [] }
  }

  func add(_ sql: StaticString, after first: StaticString) {
    later.withLock { later in
      if later[first.address]?.contains(where: { $0.address == sql.address }) == true { return }
      later[first.address, default: []].append(sql)
    }
  }
}

extension StaticString {
  fileprivate var address: UInt { UInt(bitPattern: utf8Start) }
}

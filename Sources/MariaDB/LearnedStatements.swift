import Synchronization

/// Statements that transactions have prepared after their first statement. Later transactions with
/// the same first statement prepare them before they begin: on each new connection, and before any
/// row is locked.
package final class LearnedStatements: Sendable {
  package static let ofThisProcess = LearnedStatements()

  /// Keyed by the address of the first statement, and then by the address of the later one.
  private let later = Mutex<[UInt: [UInt: StaticString]]>([:])

  package init() {}

  func after(_ first: StaticString) -> [StaticString] {
    later.withLock { later in later[first.address].map { Array($0.values) } ?? [] }
  }

  func add(_ sql: StaticString, after first: StaticString) {
    later.withLock { $0[first.address, default: [:]][sql.address] = sql }
  }
}

extension StaticString {
  fileprivate var address: UInt { UInt(bitPattern: utf8Start) }
}

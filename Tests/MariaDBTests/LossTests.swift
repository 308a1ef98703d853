import MariaDB
import Support
import Synchronization
import Testing

/// Effects of a cut connection or a server's refusal at an exact point.
@Suite struct LossTests {
  typealias Command = MariaDBProxy.Command

  private static let insert = "INSERT INTO t VALUES (1, ?)"

  @Test(
    arguments: [
      .query("SET autocommit = 0"), .prepare(insert), .execute(insert),
    ] as [Command], [MariaDBProxy.Action.cutBefore, .cutAfter])
  func aLossBeforeCommitRunsTheTransactionAgain(_ command: Command, _ cut: MariaDBProxy.Action)
    throws
  {
    try withFaults([(command, cut)]) { pool in
      try pool.insert()
      try pool.expect([5])
    }
  }

  @Test func aSecondLossIsAnError() throws {
    let command = Command.execute(Self.insert)
    try withFaults([(command, .cutAfter), (command, .cutAfter)]) { pool in
      let error = #expect(throws: DatabaseError.self) { try pool.insert() }
      #expect(error?.isConnectionLost == true)
      #expect(error?.isOutcomeUnknown == false)
      try pool.expect([])
    }
  }

  @Test(arguments: [(.cutBefore, []), (.cutAfter, [5])] as [(MariaDBProxy.Action, [Int64])])
  func aLossAtCommitLeavesTheOutcomeUnknownAndRunsNothingAgain(
    _ cut: MariaDBProxy.Action, _ numbers: [Int64]
  ) throws {
    try withFaults([(.query("COMMIT"), cut)]) { pool in
      var calls = 0
      let error = #expect(throws: DatabaseError.self) {
        try pool.insert { calls += 1 }
      }
      #expect(error?.isOutcomeUnknown == true)
      #expect(error?.description == "MariaDB error 2013, outcome unknown in: COMMIT")
      #expect(calls == 1)
      try pool.expect(numbers)
    }
  }

  @Test(arguments: [(.cutBefore, []), (.cutAfter, [5])] as [(MariaDBProxy.Action, [Int64])])
  func aLossDuringAWriteLeavesTheOutcomeUnknownAndRunsNothingAgain(
    _ cut: MariaDBProxy.Action, _ numbers: [Int64]
  ) throws {
    try withFaults([(.execute(Self.insert), cut)]) { pool in
      let error = #expect(throws: DatabaseError.self) {
        try pool.write { try $0.execute("INSERT INTO t VALUES (1, ?)", [5]) }
      }
      #expect(error?.isOutcomeUnknown == true)
      try pool.expect(numbers)
    }
  }

  @Test(arguments: [MariaDBProxy.Action.cutBefore, .cutAfter])
  func aLossBeforeAWriteIsExecutedRunsItAgain(_ cut: MariaDBProxy.Action) throws {
    try withFaults([(.prepare(Self.insert), cut)]) { pool in
      _ = try pool.write { try $0.execute("INSERT INTO t VALUES (1, ?)", [5]) }
      try pool.expect([5])
    }
  }

  @Test(arguments: [MariaDBProxy.Action.cutBefore, .cutAfter])
  func aLossDuringAReadRunsItAgain(_ cut: MariaDBProxy.Action) throws {
    let select = "SELECT n FROM t ORDER BY id"
    try withFaults([(.execute(select), cut)]) { pool in
      try pool.expect([])
    }
  }

  @Test(
    arguments: [1213, 1205, 1020, 1047, 1180] as [UInt16],
    [
      .query("COMMIT"), .query("SET autocommit = 0"), .prepare(insert), .execute(insert),
    ] as [Command])
  func aRetryableRefusalRunsTheTransactionAgain(_ code: UInt16, _ command: Command) throws {
    try withFaults([(command, .refuse(code))]) { pool in
      try pool.insert()
      try pool.expect([5])
    }
  }

  @Test(arguments: [1213, 1047] as [UInt16])
  func aRetryableRefusalRunsAReadAndAWriteAgain(_ code: UInt16) throws {
    let select = Command.execute("SELECT n FROM t ORDER BY id")
    try withFaults([(.execute(Self.insert), .refuse(code)), (select, .refuse(code))]) { pool in
      _ = try pool.write { try $0.execute("INSERT INTO t VALUES (1, ?)", [5]) }
      try pool.expect([5])
    }
  }

  @Test func aRefusalThatTheBodyTurnsIntoItsOwnErrorStillRunsTheTransactionAgain() throws {
    struct Misunderstanding: Error {}
    try withFaults([(.execute(Self.insert), .refuse(1213))]) { pool in
      try pool.transaction { connection in
        guard (try? connection.execute("INSERT INTO t VALUES (1, ?)", [5])) != nil else {
          throw Misunderstanding()
        }
      }
      try pool.expect([5])
    }
  }

  @Test func aDeadlockIsTriedNineTimesInAll() throws {
    let always = Array(
      repeating: (Command.query("COMMIT"), MariaDBProxy.Action.refuse(1213)), count: 9)
    try withFaults(always) { pool in
      var calls = 0
      let error = #expect(throws: DatabaseError.self) {
        try pool.insert { calls += 1 }
      }
      #expect(error?.code == .deadlock)
      #expect(error?.isOutcomeUnknown == false)
      #expect(calls == 9)
      try pool.expect([])
    }
  }

  @Test(arguments: [1021, 1290] as [UInt16])
  func anotherRefusalOfCommitIsAnErrorAndRunsNothingAgain(_ code: UInt16) throws {
    try withFaults([(.query("COMMIT"), .refuse(code))]) { pool in
      var calls = 0
      let error = #expect(throws: DatabaseError.self) {
        try pool.insert { calls += 1 }
      }
      #expect(error?.code.rawValue == UInt32(code))
      #expect(error?.isOutcomeUnknown == false)
      #expect(calls == 1)
      try pool.expect([])
    }
  }
}

extension Pool {
  /// Inserts 5 into the table of ``withFaults(_:_:)`` in a transaction.
  fileprivate func insert(_ onCall: () -> Void = {}) throws {
    try transaction { connection in
      onCall()
      _ = try connection.execute("INSERT INTO t VALUES (1, ?)", [5])
    }
  }
}

/// Calls `body` with a pool whose connections suffer each of `faults` once, in order; expects all
/// of them.
private func withFaults(
  _ faults: [(MariaDBProxy.Command, MariaDBProxy.Action)], _ body: (Pool) throws -> Void
) throws {
  let script = Script(faults)
  try withDatabase(schema: table("n BIGINT")) { settings in
    let proxy = MariaDBProxy(settings) { command in script.action(for: command) }
    try withExtendedLifetime(proxy) { try body(Pool(proxy.settings)) }
  }
  #expect(script.isDone)
}

private final class Script: Sendable {
  private let faults: Mutex<[(MariaDBProxy.Command, MariaDBProxy.Action)]>

  init(_ faults: [(MariaDBProxy.Command, MariaDBProxy.Action)]) { self.faults = Mutex(faults) }

  var isDone: Bool { faults.withLock { $0.isEmpty } }

  func action(for command: MariaDBProxy.Command) -> MariaDBProxy.Action {
    faults.withLock { faults in
      guard faults.first?.0 == command else { return .pass }
      return faults.removeFirst().1
    }
  }
}

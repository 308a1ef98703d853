import Base
import Foundation
import MariaDB
import Support
import Synchronization
import Testing

/// Temporary and permanent outages of the server. Each test has its own server.
@Suite struct OutageTests {
  @Test func aServerThatComesBackInTimeIsWaitedFor() throws {
    try withServer { server in
      let waits = Atomic(0)
      let pool = Pool(server.settings(database: "test"), waitLimit: .seconds(86_400)) {
        waits.add(1, ordering: .relaxed)
        server.startWithoutWaiting()
        return true
      }
      _ = try pool.write { try $0.execute("INSERT INTO t VALUES (1, 1)") }
      server.stop()
      try pool.expect([1])
      server.kill()
      _ = try pool.write { try $0.execute("INSERT INTO t VALUES (2, 2)") }
      server.kill()
      try pool.transaction { _ = try $0.execute("INSERT INTO t VALUES (3, 3)") }
      try pool.expect([1, 2, 3])
      #expect(waits.load(ordering: .relaxed) == 3)
    }
  }

  @Test func anOperationThatMayNotWaitFailsAtOnce() throws {
    try withServer { server in
      let asked = Atomic(0)
      let pool = Pool(server.settings(database: "test"), waitLimit: .seconds(86_400)) {
        asked.add(1, ordering: .relaxed)
        return false
      }
      try pool.expect([])
      server.stop()
      let error = #expect(throws: DatabaseError.self) { try pool.expect([]) }
      #expect(error?.isUnreachable == true)
      #expect(error?.isConnectionLost == false)
      #expect(error?.code == .socketUnreachable)
      #expect(asked.load(ordering: .relaxed) == 1)
      server.start()
      try pool.expect([])
    }
  }

  @Test func theWaitLimitEndsTheWait() throws {
    let asked = Atomic(0)
    let nowhere = ConnectionSettings(socket: "/nowhere/at/all", database: "d", user: "u")
    let pool = Pool(nowhere, waitLimit: .milliseconds(200)) {
      asked.add(1, ordering: .relaxed)
      return true
    }
    var error: DatabaseError?
    let time = ContinuousClock().measure {
      error = #expect(throws: DatabaseError.self) { try pool.read { _ in } }
    }
    #expect(error?.isUnreachable == true)
    #expect(error?.description.contains("/nowhere/at/all") == true)
    #expect(asked.load(ordering: .relaxed) == 1)
    #expect(time > .milliseconds(200))
  }

  @Test func aFrozenServerIsGivenUp() throws {
    try withServer { server in
      var settings = server.settings(database: "test")
      settings.connectTimeout = .seconds(5)
      settings.readTimeout = .seconds(5)
      let pool = Pool(settings, waitLimit: .zero)
      try pool.expect([])
      server.freeze()
      let reading = #expect(throws: DatabaseError.self) { try pool.expect([]) }
      #expect(reading?.isUnreachable == true)
      let writing = #expect(throws: DatabaseError.self) {
        try pool.write { try $0.execute("INSERT INTO t VALUES (1, 1)") }
      }
      #expect(writing?.isUnreachable == true)
      server.thaw()
      pool.awaitAnswer()
      try pool.expect([])
    }
  }

  /// Only one caller may wait for the server; the other callers must serve other requests.
  @Test func whileAServerIsKnownToBeFrozenOneCallerTriesIt() throws {
    try withServer { server in
      var settings = server.settings(database: "test")
      settings.readTimeout = .seconds(5)
      settings.connectTimeout = .seconds(86_400)
      let pool = Pool(settings, waitLimit: .seconds(86_400))
      try pool.expect([])
      server.freeze()
      #expect(throws: DatabaseError.self) { try pool.expect([]) }
      let refusals = Atomic(0)
      let answers = inParallel(9) { number in
        if number == 8 {
          wait(for: "seven refusals") { refusals.load(ordering: .relaxed) == 7 }
          server.thaw()
          return true
        }
        do {
          try pool.expect([])
          return true
        } catch {
          refusals.add(1, ordering: .relaxed)
          return false
        }
      }
      #expect(answers.filter { $0 }.count == 2)
      try pool.expect([])
    }
  }

  @Test func aWriteToAServerThatFreezesHasAnUnknownOutcome() throws {
    try withServer { server in
      var settings = server.settings(database: "test")
      settings.connectTimeout = .seconds(5)
      settings.readTimeout = .seconds(5)
      let pool = Pool(settings, waitLimit: .zero)
      try pool.expect([])
      server.freeze()
      let error = #expect(throws: DatabaseError.self) {
        try pool.write { try $0.execute("DELETE FROM t") }
      }
      // Preparing comes first and changes nothing, so its loss is no reason to give up.
      #expect(error?.isOutcomeUnknown == false && error?.isUnreachable == true)
      server.thaw()
      pool.awaitAnswer()
      _ = try pool.write { try $0.execute("DELETE FROM t") }
      server.freeze()
      let unknown = #expect(throws: DatabaseError.self) {
        try pool.write { try $0.execute("DELETE FROM t") }
      }
      #expect(unknown?.isOutcomeUnknown == true)
    }
  }

  @Test func overTCPAWriteAfterARestartSucceeds() throws {
    let port = freePort()
    let options = ["--skip-networking=0", "--bind-address=127.0.0.1", "--port=\(port)"]
    try withServer(options: options) { server in
      server.run("CREATE USER app IDENTIFIED BY 'secret'; GRANT ALL ON test.* TO app")
      let pool = Pool(
        ConnectionSettings(
          hosts: [.init("127.0.0.1", port: port)], encryption: .off, database: "test", user: "app",
          password: "secret"))
      for id in 1...3 as ClosedRange<Int64> {
        _ = try pool.write { try $0.execute("INSERT INTO t VALUES (?, 1)", [.integer(id)]) }
        server.kill()
        server.start()
      }
      try pool.expect([1, 1, 1])
    }
  }

  @Test func aFullServerIsWaitedFor() throws {
    try withServer(options: ["--max-connections=10"]) { server in
      server.run("CREATE USER app; GRANT ALL ON test.* TO app")
      var settings = server.settings(database: "test")
      settings.user = "app"
      let guests = Guests(settings)
      let error = #expect(throws: DatabaseError.self) {
        while true { try guests.come() }
      }
      #expect(error?.code == .tooManyConnections)
      #expect(error?.isUnreachable == true)
      let pool = Pool(settings, waitLimit: .seconds(86_400)) {
        guests.go()
        return true
      }
      try pool.expect([])
    }
  }

  @Test func underLoadNothingAcknowledgedIsLostAndEveryErrorSaysWhatIsKnown() throws {
    try withServer { server in
      let pool = Pool(server.settings(database: "test"))
      let load = Load(pool)
      inParallel(5) { number in
        guard number == 4 else { return load.run(number) }
        for stop in [server.kill, server.stop, server.kill] {
          load.awaitProgress()
          stop()
          server.start()
        }
        load.awaitProgress()
        load.stop()
      }
      let stored = try pool.read {
        try Set($0.rows("SELECT id FROM t") { row in row.integer(0) })
      }
      let (acknowledged, unknown, refused) = load.outcome
      #expect(acknowledged.isSubset(of: stored))
      #expect(stored.isSubset(of: acknowledged.union(unknown)))
      #expect(refused.isDisjoint(with: stored))
    }
  }
}

/// Calls `body` with a new server that has the database `test` with the table `t (id, n)`.
private func withServer(
  options: [String] = [], _ body: (MariaDBServer) throws -> Void
) throws {
  let server = MariaDBServer(options: options)
  defer { server.kill() }
  server.run("CREATE DATABASE test; USE test; " + table("n BIGINT"))
  try body(server)
}

extension Pool {
  fileprivate func awaitAnswer() {
    wait(for: "an answer of the server") { (try? read { _ in }) != nil }
  }
}

/// Connections that stay open.
private final class Guests: Sendable {
  private let settings: ConnectionSettings
  private let present = Mutex<[Pool]>([])

  init(_ settings: ConnectionSettings) {
    self.settings = settings
  }

  /// Opens one more connection, which stays open because a pool keeps its idle connection.
  func come() throws {
    let pool = Pool(settings, waitLimit: .zero)
    try pool.read { _ in }
    present.withLock { $0.append(pool) }
  }

  func go() { present.withLock { $0 = [] } }
}

/// Writers of unique rows that note the server's answers.
private final class Load: Sendable {
  private struct Outcome {
    var acknowledged: Set<Int64> = []
    var unknown: Set<Int64> = []
    var refused: Set<Int64> = []
  }

  private let pool: Pool
  private let isStopped = Atomic(false)
  private let notes = Mutex(Outcome())

  init(_ pool: Pool) {
    self.pool = pool
  }

  var outcome: (acknowledged: Set<Int64>, unknown: Set<Int64>, refused: Set<Int64>) {
    notes.withLock { ($0.acknowledged, $0.unknown, $0.refused) }
  }

  func stop() { isStopped.store(true, ordering: .relaxed) }

  /// Waits until 100 more rows have been acknowledged.
  func awaitProgress() {
    let goal = notes.withLock { $0.acknowledged.count } + 100
    wait(for: "100 more rows", pause: 1000) { notes.withLock { $0.acknowledged.count } >= goal }
  }

  func run(_ writer: Int) {
    var id = Int64(writer) * 1_000_000_000
    while !isStopped.load(ordering: .relaxed) {
      id += 1
      do {
        try write(id, inTransaction: id % 2 == 0)
        notes.withLock { _ = $0.acknowledged.insert(id) }
      } catch let error as DatabaseError {
        #expect(error.isOutcomeUnknown || error.isConnectionLost || error.isUnreachable, "\(error)")
        notes.withLock {
          _ = error.isOutcomeUnknown ? $0.unknown.insert(id) : $0.refused.insert(id)
        }
      } catch {
        Issue.record(error)
      }
    }
  }

  private func write(_ id: Int64, inTransaction: Bool) throws {
    if inTransaction {
      try pool.transaction { connection in
        _ = try connection.execute("INSERT INTO t VALUES (?, 0)", [.integer(id)])
        _ = try connection.execute("UPDATE t SET n = n + 1 WHERE id = ?", [.integer(id)])
      }
    } else {
      _ = try pool.write { try $0.execute("INSERT INTO t VALUES (?, 1)", [.integer(id)]) }
    }
  }
}

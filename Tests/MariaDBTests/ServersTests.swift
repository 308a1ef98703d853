import Base
import Glibc
import MariaDB
import Support
import Synchronization
import Testing

/// Two servers, of which one takes writes. Both have the table `test.t`. Rows are not replicated,
/// so they show which server got them.
@Suite struct ServersTests {
  private static let insert: @Sendable (Connection) throws -> Int = { connection in
    try connection.execute("INSERT INTO t VALUES (NULL)")
  }

  private func withServers(
    _ body: (_ first: Server, _ second: Server, _ settings: ConnectionSettings) throws -> Void
  ) throws {
    let servers = (Server(), Server())
    defer {
      servers.0.server.kill()
      servers.1.server.kill()
    }
    let settings = ConnectionSettings(
      hosts: [servers.0.host, servers.1.host], encryption: .off, database: "test", user: "app")
    try body(servers.0, servers.1, settings)
  }

  @Test func theFirstServerThatTakesWritesIsUsed() throws {
    try withServers { first, second, settings in
      first.isReadOnly(true)
      _ = try Pool(settings).write(Self.insert)
      #expect((first.count, second.count) == (0, 1))
      first.isReadOnly(false)
      _ = try Pool(settings).write(Self.insert)
      #expect((first.count, second.count) == (1, 1))
    }
  }

  @Test func theWorkOfAServerThatIsDemotedIsDoneByThePromotedOne() throws {
    try withServers { first, second, settings in
      second.isReadOnly(true)
      let pool = Pool(settings)
      for _ in 1...2 { _ = try pool.write(Self.insert) }
      first.isReadOnly(true)
      second.isReadOnly(false)
      _ = try pool.write(Self.insert)
      try pool.transaction { _ = try Self.insert($0) }
      #expect((first.count, second.count) == (2, 2))
      // The refusal also closed the idle connections to the demoted server.
      wait(for: "the end of the connections to the demoted server") { first.connections == 0 }
    }
  }

  @Test func aProgramThatOnlyReadsLeavesADemotedServer() throws {
    try withServers { first, second, settings in
      second.server.run("INSERT INTO test.t VALUES (7)")
      let pool = Pool(settings)
      let ids = { try pool.read { try $0.rows("SELECT id FROM t") { row in row.integer(0) } } }
      #expect(try ids() == [])
      first.isReadOnly(true)
      try wait(for: "a row of the promoted server") { try ids() == [7] }
      wait(for: "the end of the connections to the demoted server") { first.connections == 0 }
    }
  }

  @Test func whileNoServerTakesWritesThePromotionIsWaitedFor() throws {
    try withServers { first, second, settings in
      second.isReadOnly(true)
      let pool = Pool(settings, waitLimit: .seconds(86_400)) {
        second.isReadOnly(false)
        return true
      }
      _ = try pool.write(Self.insert)
      first.server.kill()
      _ = try pool.write(Self.insert)
      #expect(second.count == 1)
    }
  }

  @Test func whereNoServerTakesWritesTheErrorSaysSo() throws {
    try withServers { first, second, settings in
      second.isReadOnly(true)
      let pool = Pool(settings) { false }
      _ = try pool.write(Self.insert)
      first.isReadOnly(true)
      let demoted = #expect(throws: DatabaseError.self) { try pool.write(Self.insert) }
      #expect(demoted?.isReadOnly == true && demoted?.isOutcomeUnknown == false)
      let error = #expect(throws: DatabaseError.self) { try pool.write(Self.insert) }
      #expect(error?.isReadOnly == true && error?.isUnreachable == true)
      #expect(error?.description.contains("\(first.host) is read-only") == true, "\(error!)")
    }
  }

  /// A proxy gives one address, with the writable server behind it.
  @Test func oneAddressThatRefusesWritesIsAskedAgain() throws {
    try withServers { first, _, settings in
      var settings = settings
      settings.hosts = [first.host]
      first.isReadOnly(true)
      let pool = Pool(settings, waitLimit: .seconds(86_400)) {
        first.isReadOnly(false)
        return true
      }
      _ = try pool.write(Self.insert)
      #expect(first.count == 1)
    }
  }

  @Test func aSilentServerIsTriedAfterTheOthersForAWhile() throws {
    try withServers { _, second, settings in
      let calls = Atomic(0)
      let silent = try #require(LoopbackListener())
      defer { silent.end() }
      silent.begin { client in
        calls.add(1, ordering: .relaxed)
        var byte: UInt8 = 0
        while recv(client, &byte, 1, 0) > 0 {}
        close(client)
      }
      var settings = settings
      settings.hosts = [.init("127.0.0.1", port: silent.port), second.host]
      settings.connectTimeout = .seconds(5)
      let pool = Pool(settings, retryInterval: .seconds(86_400))
      for _ in 1...2 {
        _ = try pool.write(Self.insert)
        second.server.run("KILL USER app")
      }
      _ = try pool.write(Self.insert)
      #expect(second.count == 3)
      #expect(calls.load(ordering: .relaxed) == 1)
    }
  }

  @Test func noRequestWaitsForAFailedServerThatIsTriedAgain() throws {
    try withServers { _, second, settings in
      let port = freePort()
      var settings = settings
      settings.hosts = [.init("127.0.0.1", port: port), second.host]
      settings.connectTimeout = .seconds(86_400)
      let pool = Pool(settings, retryInterval: .milliseconds(1))
      _ = try pool.write(Self.insert)  // the first server refuses

      let open = Monitor(0)
      let starting = try #require(LoopbackListener(port: port))
      defer { starting.end() }
      starting.begin { client in
        open.with { $0 += 1 }
        var byte: UInt8 = 0
        while recv(client, &byte, 1, 0) > 0 {}
        close(client)
        open.with { $0 -= 1 }
      }
      second.server.run("KILL USER app")
      _ = try pool.write(Self.insert)
      #expect(second.count == 2)
      wait(for: "another try of the failed server") { open.with { $0 } == 1 }
    }
  }

  @Test func aReadFromAServerThatFreezesIsDoneByTheOther() throws {
    try withServers { first, second, settings in
      var settings = settings
      settings.connectTimeout = .seconds(5)
      settings.readTimeout = .seconds(5)
      second.server.run("INSERT INTO test.t VALUES (7)")
      let pool = Pool(settings)
      _ = try pool.read { try $0.execute("SELECT id FROM t") }
      first.server.freeze()
      let ids = try pool.read { try $0.rows("SELECT id FROM t") { row in row.integer(0) } }
      #expect(ids == [7])
    }
  }

  @Test func mySQLIsRefusedByName() throws {
    let server = MariaDBServer(options: ["--version=8.0.36"])
    defer { server.kill() }
    let error = #expect(throws: DatabaseError.self) {
      try Pool(server.settings()).read { _ in }
    }
    #expect(error?.isForeign == true && error?.isUnreachable == false)
    #expect(error?.description.contains("not MariaDB but MySQL") == true, "\(error!)")
  }
}

/// A server on a port of 127.0.0.1. The account `app` may do everything except write to a read-only
/// server.
private struct Server {
  let server: MariaDBServer
  let host: ConnectionSettings.Host

  init() {
    let port = freePort()
    host = .init("127.0.0.1", port: port)
    server = MariaDBServer(
      options: ["--skip-networking=0", "--bind-address=127.0.0.1", "--port=\(port)"])
    server.run(
      """
      CREATE DATABASE test; CREATE TABLE test.t (id BIGINT PRIMARY KEY AUTO_INCREMENT);
      CREATE USER app; GRANT ALL ON test.* TO app
      """)
  }

  /// The number of its rows.
  var count: Int { number("SELECT COUNT(*) FROM test.t") }
  /// The number of connections of `app`.
  var connections: Int {
    number("SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'app'")
  }

  func isReadOnly(_ value: Bool) { server.run("SET GLOBAL read_only = \(value)") }

  private func number(_ query: String) -> Int {
    Int(server.run(query).split(separator: "\n").first ?? "") ?? -1
  }
}

import Foundation
package import MariaDB
import Synchronization

/// A private MariaDB server: own data directory and unix socket in a temporary folder, no network.
///
/// The server and its folder are removed when this process ends for any reason. Its `root` has no
/// password. A fault test makes its own server; the other tests share ``shared``.
package final class MariaDBServer: Sendable {
  /// The server of ``withDatabase(schema:_:)``, started at its first use.
  package static let shared = MariaDBServer(template: nil, options: [])

  package let socket: String
  private let folder: String
  private let template: String
  private let program: Mutex<GuardedProgram>

  /// Starts a server with an empty data directory.
  ///
  /// - Parameter options: additional options of `mariadbd`, such as `--max-connections=3`.
  package convenience init(options: [String] = []) {
    self.init(template: Self.shared.template, options: options)
  }

  /// - Parameter template: an unused data directory to copy; nil: makes one, or takes the one that
  ///   `SWITCHBOARD_TEST_TEMPLATE` names and that the first of several processes makes.
  private init(template: String?, options: [String]) {
    folder = makeTemporaryFolder()
    socket = folder + "/socket"
    let arguments =
      Self.options(data: folder + "/data") + [
        "--socket=\(socket)", "--skip-networking", "--pid-file=\(folder)/pid",
        "--log-error=\(folder)/error.log", "--tmpdir=\(folder)",
        "--innodb-flush-log-at-trx-commit=1", "--max-connections=500",
        "--table-open-cache=400", "--table-open-cache-instances=1",
        "--transaction-isolation=READ-COMMITTED",  // Sessions of the programs choose their own.
      ] + options
    program = Mutex(GuardedProgram("mariadbd", arguments, folder: folder))
    self.template = template ?? Self.makeTemplate(in: folder)
    runCommand("cp", ["-a", self.template, folder + "/data"])
    start()
  }

  private static func makeTemplate(in folder: String) -> String {
    let shared = ProcessInfo.processInfo.environment["SWITCHBOARD_TEST_TEMPLATE"]
    let path = shared ?? "\(folder)/template"
    let lock = open("\(path).lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    precondition(lock >= 0 && flock(lock, LOCK_EX) == 0, "cannot lock \(path)")
    defer { close(lock) }
    if access(path, F_OK) == 0 { return path }
    runCommand(
      "mariadb-install-db",
      options(data: "\(path).new") + [
        "--auth-root-authentication-method=normal", "--skip-test-db", "--force",
      ])
    precondition(rename("\(path).new", path) == 0, "cannot rename \(path).new")
    return path
  }

  /// Settings to connect to `database` as `root`.
  package func settings(database: String = "") -> ConnectionSettings {
    ConnectionSettings(socket: socket, database: database, user: "root")
  }

  /// The folder with the definitions of a database's tables, views and triggers.
  func data(of database: String) -> String { "\(folder)/data/\(database)" }

  /// Starts the server again and returns when it accepts connections.
  package func start() {
    startWithoutWaiting()
    wait(for: "the start of MariaDB", pause: 5000) {
      isAnswering || !program.withLock { $0.isRunning }
    }
    if program.withLock({ $0.isRunning }) { return }
    let log = try? String(contentsOfFile: folder + "/error.log", encoding: .utf8)
    let lines = (log ?? "no log").split(separator: "\n").suffix(8).joined(separator: "\n")
    recordIssue("MariaDB does not start: \(lines)")
  }

  private var isAnswering: Bool {
    do throws(DatabaseError) {
      _ = try Connection(settings())
      return true
    } catch {
      return error.isForeign
    }
  }

  /// Starts the server again and returns before it accepts connections.
  package func startWithoutWaiting() { program.withLock { $0.start() } }

  /// Shuts down the server in order and waits for its end.
  package func stop() { end(SIGTERM) }

  /// Kills the server, like a crash.
  package func kill() { end(SIGKILL) }

  /// Freezes the server's process: its connections stay open, but it does not answer.
  package func freeze() { program.withLock { $0.freeze() } }

  package func thaw() { program.withLock { $0.signal(SIGCONT) } }

  /// Runs SQL; it may contain `DELIMITER`. An error of the SQL is an issue of the test.
  ///
  /// - Returns: the output: one line per row, tabs between columns, no column names.
  @discardableResult
  package func run(
    _ sql: String, database: String? = nil, fileID: String = #fileID, filePath: String = #filePath,
    line: Int = #line
  ) -> String {
    let (isDone, printed) = tryRun(sql, database: database)
    if !isDone {
      recordIssue(
        "\(sql.prefix(300)): \(printed.suffix(300))", fileID: fileID, filePath: filePath, line: line
      )
    }
    return printed
  }

  /// Runs SQL that may fail, like ``run(_:database:)``.
  ///
  /// - Returns: the output, with the message of an error, such as `ERROR 1205 (HY000): …`.
  func tryRun(_ sql: String, database: String? = nil) -> (isDone: Bool, printed: String) {
    // The server knows no `DELIMITER`, and reads at most 16 MiB at once.
    guard sql.contains("DELIMITER") || sql.utf8.count > 4 << 20 else {
      return SQLClient.run(sql, socket: socket, user: "root", database: database)
    }
    let words = [
      "-c", #"exec "$0" "$@" 2>&1"#, path(of: "mariadb"), "--no-defaults", "--socket=\(socket)",
      "--user=root", "--skip-column-names", "--batch", "--default-character-set=utf8mb4",
    ]
    let (status, printed) = tryCommand("sh", words + (database.map { [$0] } ?? []), input: sql)
    return (status == 0, printed)
  }

  /// Creates a database and applies a schema, again after each wait for a lock (1205, ER_LOCK_WAIT_TIMEOUT): the
  /// project's schema waits only a second, and on a busy machine a lock may be held for longer.
  func makeDatabase(_ name: String, schema: String) throws {
    run("CREATE DATABASE \(name)")
    try wait(for: "a database of which no other test holds a lock") {
      let (isDone, printed) = tryRun(schema, database: name)
      if !isDone, !printed.contains("ERROR 1205 ") {
        throw ServerError(
          description: "the schema of \(name) cannot be applied: \(printed.suffix(500))")
      }
      return isDone
    }
  }

  struct ServerError: Error, CustomStringConvertible {
    let description: String
  }

  /// Creates a database and applies a schema. An error of the schema is an issue of the test.
  package func createDatabase(_ name: String, schema: String) {
    do { try makeDatabase(name, schema: schema) } catch { recordIssue("\(error)") }
  }

  /// Drops a database.
  ///
  /// On a busy machine, a server has left files behind (error 1010, errno 39): no table is left
  /// then, but the folder is. Prints the names of the files and removes them.
  func dropDatabase(_ name: String) {
    let folder = data(of: name)
    _ = tryRun("DROP DATABASE \(name)")
    // No folder is left of a dropped database.
    guard let left = try? FileManager.default.contentsOfDirectory(atPath: folder) else { return }
    let tables = "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '\(name)'"
    guard run(tables) == "0\n" else { return recordIssue("\(name) was not dropped") }
    print("DROP DATABASE \(name) left \(left)")
    for file in left { try? FileManager.default.removeItem(atPath: "\(folder)/\(file)") }
    run("DROP DATABASE \(name)")
  }

  private func end(_ signal: Int32) {
    program.withLock { program in
      program.signal(signal)
      program.signal(SIGCONT)
      program.awaitEnd()
    }
  }

  /// Options for both creating and serving a data directory. No syncs, because they protect from a
  /// crash of the machine, not of the server. No file per table, because it makes CREATE and DROP
  /// slow.
  private static func options(data: String) -> [String] {
    [
      "--no-defaults", "--datadir=\(data)", "--innodb-buffer-pool-size=32M",
      "--innodb-log-file-size=16M", "--performance-schema=OFF", "--skip-name-resolve",
      "--debug-no-sync", "--innodb-file-per-table=0",
    ] + (geteuid() == 0 ? ["--user=root"] : [])
  }
}

import Foundation
import Support
import Testing

extension Fault {
  static let ofDatabase: [Fault] = [
    Fault(
      name: "MariaDB is killed and does not start", problem: .database,
      words: "does not answer", mended: "Start it. All else goes on by itself.",
      inject: { try $0.end("mariadb") }, mend: { try $0.revive("mariadb") }),
    Fault(
      name: "MariaDB's disk is full", problem: .database, words: "disk is full",
      requests: Array(FaultSite.Request.usual.prefix(3)),
      mended: "Make room. A minute later all is well.",
      inject: { try $0.fillDatabaseDisk() }, mend: { try $0.makeRoomForDatabase() }),
    Fault(
      name: "MariaDB's clock is an hour ahead", problem: .clock, words: "clock is",
      mended: "Set it right. Nothing waits for an hour then.",
      inject: { try $0.setDatabaseClock("+1h") }, mend: { try $0.setDatabaseClock(nil) }),
    Fault(
      name: "MariaDB's clock is an hour behind", problem: .clock, words: "clock is",
      mended: "Set it right.",
      inject: { try $0.setDatabaseClock("-1h") }, mend: { try $0.setDatabaseClock(nil) }),
    Fault(
      name: "MariaDB hangs (frozen)", problem: .database, words: "does not answer",
      mended: "By itself, when it answers.",
      inject: { try $0.freeze("mariadb") }, mend: { try $0.thaw("mariadb") }),
    Fault(
      name: "MariaDB is read-only", problem: .database, words: "read-only",
      mended: "By itself, when it is writable.",
      inject: { _ = try $0.site.sql("SET GLOBAL read_only = 1") },
      mend: { _ = try $0.site.sql("SET GLOBAL read_only = 0") }),
    Fault(
      name: "MariaDB has no connection left", problem: .database, words: "too many connections",
      mended: "By itself, when others close theirs.",
      inject: { try $0.takeAllConnections() }, mend: { try $0.giveConnectionsBack() }),
    Fault(
      name: "MariaDB prepares no more statements", problem: .database,
      words: "too many prepared statements",
      mended: "Raise `max_prepared_stmt_count`, or close the connections that hold the statements.",
      inject: {
        _ = try $0.site.sql("SET GLOBAL max_prepared_stmt_count = 0; \(closeConnections)")
      },
      mend: { _ = try $0.site.sql("SET GLOBAL max_prepared_stmt_count = DEFAULT") }),
    Fault(
      name: "The schema has another version", problem: .schema, words: "schema has version",
      mended: "Apply the `schema.sql` of the programs.",
      inject: { _ = try $0.site.sql("UPDATE schema_version SET version = version - 1") },
      mend: { _ = try $0.site.sql("UPDATE schema_version SET version = version + 1") }),
    Fault(
      name: "The responder has a wrong password for the database", problem: .site,
      words: "responder", mended: "Give it the right one and restart it.",
      inject: {
        try $0.replaceSecret("database-responder", with: "wrong\n")
        try $0.restartAsItIs("responder")
      },
      mend: {
        try $0.replaceSecret("database-responder", with: nil)
        try $0.restartAsItIs("responder")
      }),
    Fault(
      name: "The responder is killed and does not start", problem: .site, words: "responder",
      mended: "Start it. Requests wait in its socket for 15 seconds.",
      inject: { try $0.end("responder") }, mend: { try $0.revive("responder") }),
  ]
}

/// Closes the connections of the programs.
private let closeConnections = ["responder", "companion"]
  .map { "KILL USER switchboard_\($0)@localhost" }.joined(separator: ";")

extension FaultSite {
  /// Opens connections, and closes those of the programs, until all connections are taken.
  fileprivate func takeAllConnections() throws {
    _ = try site.sql("SET GLOBAL max_connections = 10; \(closeConnections)")
    let client = "mariadb --defaults-file=\(site.state)/administrator.cnf"
    let hold = "while [ -e \(folder)/crowd ]; do \(client) -e 'SELECT SLEEP(600)'; done"
    try "".write(toFile: "\(folder)/crowd", atomically: true, encoding: .utf8)
    for _ in 1...12 {
      let shell = Process()
      shell.executableURL = URL(filePath: "/bin/sh")
      shell.arguments = ["-c", hold]
      (shell.standardOutput, shell.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
      try shell.run()
    }
    let held = """
      SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'SELECT SLEEP(600)'
      """
    wait(for: "ten connections of others") {
      _ = try? site.sql(closeConnections)
      return (try? site.sql(held)) == "10\n"
    }
  }

  fileprivate func giveConnectionsBack() throws {
    try FileManager.default.removeItem(atPath: "\(folder)/crowd")
    let open = "SET GLOBAL max_connections = 151; KILL USER switchboard_administrator@localhost"
    // The extra connection for administrators may be in use.
    wait(for: "the extra connection of administrators") { (try? site.sql(open)) != nil }
  }
}

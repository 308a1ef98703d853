import Foundation
import Synchronization

/// Databases with the project's schema for reuse by another test: emptying a database takes a tenth
/// of the time of making one.
///
/// A database is not reused if a test has changed its structure or its rights.
enum SpareDatabases {
  private static let spares = Mutex<[TestDatabase]>([])
  private static let model = Result { try ModelDatabase() }

  /// - Returns: nil if there is no spare database.
  static func take() -> TestDatabase? { spares.withLock { $0.popLast() } }

  /// Keeps the evidence of a database and restores its rows, unless a test has changed more than
  /// rows.
  ///
  /// - Parameter definitions: the result of ``definitions(of:)`` when the database was made.
  /// - Returns: whether the database can be reused.
  static func giveBack(_ database: TestDatabase, madeWith definitions: String) -> Bool {
    let name = database.settings.database
    guard Self.definitions(of: name) == definitions, let model = try? model.get()
    else { return false }  // Nobody needs a spare database if none can be made.
    let (isReset, printed) = MariaDBServer.shared.tryRun(model.script, database: name)
    guard isReset,
      let rights = printed.range(of: ModelDatabase.rightsMark, options: .backwards)
    else { return false }
    Evidence.keep(rows: String(printed[..<rights.lowerBound]), of: name)
    guard printed[rights.upperBound...] == model.rights else { return false }
    spares.withLock { $0.append(database) }
    return true
  }

  /// The versions of the files that define the tables, views and triggers of a database.
  static func definitions(of name: String) -> String {
    let folder = MariaDBServer.shared.data(of: name)
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return files.sorted().map { file in
      var status = stat()
      stat("\(folder)/\(file)", &status)
      return "\(file) \(status.st_ino) \(status.st_mtim.tv_sec) \(status.st_mtim.tv_nsec)"
    }.joined(separator: "\n")
  }
}

/// A database that no test uses, with the initial content of all test databases.
private struct ModelDatabase {
  static let rightsMark = "\nthe rights\n"

  /// Prints all rows of the current database, resets them to those of the model, and prints the
  /// rights after ``rightsMark``.
  let script: String
  let rights: String

  init() throws {
    let server = MariaDBServer.shared
    let name = "model"
    try server.makeDatabase(name, schema: schemaOfTests)
    let tables = server.run(
      """
      SELECT TABLE_NAME, AUTO_INCREMENT IS NOT NULL, GROUP_CONCAT('`', COLUMN_NAME, '`')
      FROM information_schema.TABLES JOIN information_schema.COLUMNS USING (TABLE_SCHEMA, TABLE_NAME)
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' AND IS_GENERATED = 'NEVER'
      GROUP BY TABLE_NAME
      """, database: name
    ).split(separator: "\n").map { $0.split(separator: "\t") }
    let reads = tables.map { "SELECT '\($0[0])', t.* FROM \($0[0]) t;" }
    let resets = tables.map { table in
      // TRUNCATE resets the counter of AUTO_INCREMENT.
      let clear = table[1] == "1" ? "TRUNCATE" : "DELETE FROM"
      let isEmpty = server.run("SELECT 1 FROM \(table[0]) LIMIT 1", database: name).isEmpty
      let fill =
        isEmpty
        ? "" : "INSERT INTO \(table[0]) (\(table[2])) SELECT \(table[2]) FROM \(name).\(table[0]);"
      return "\(clear) \(table[0]); \(fill)"
    }
    let readRights = """
      SELECT User, Table_name, Table_priv, Column_priv
      FROM mysql.tables_priv WHERE Db = DATABASE() ORDER BY User, Table_name;
      SELECT User, Table_name, Column_name, Column_priv
      FROM mysql.columns_priv WHERE Db = DATABASE() ORDER BY User, Table_name, Column_name;
      """
    rights = server.run(readRights, database: name)
    let parts = [
      reads.joined(separator: "\n"), "SET foreign_key_checks = 0;", resets.joined(separator: "\n"),
      "SELECT '';", "SELECT '\(Self.rightsMark.dropFirst().dropLast())';", readRights,
    ]
    script = parts.joined(separator: "\n")
  }
}

import Base
import Cryptography
import Store

/// The database server as its administrator uses it: by the programs `mariadb` and `mariadb-dump`.
package struct DatabaseAdministrator: Sendable {
  /// That say where the server is and who we are. No password stands here: others see a program's arguments.
  private let options: [String]

  /// - Parameters:
  ///   - optionsFile: as the clients of MariaDB read one (`--defaults-file`); nil: theirs and `socket`.
  ///   - socket: nil: where the clients look.
  package init(optionsFile: String?, socket: String?) {
    options =
      optionsFile.map { ["--defaults-file=\($0)"] } ?? socket.map { ["--socket=\($0)"] } ?? []
  }

  /// Runs a script with variables.
  ///
  /// - Returns: the lines that it prints.
  func run(
    _ script: String, _ variables: [String: String] = [:], in database: String? = nil
  ) throws -> [String] {
    var client = try Pipeline([client(of: database)], from: .us)
    let settings = variables.map { name, value in
      let digits = hexEncoded(Array(value.utf8).span)
      return "SET @\(name) = CONVERT(X'\(digits)' USING utf8mb4) COLLATE utf8mb4_nopad_bin;\n"
    }
    // A script is shorter than what a pipe holds, so the client need not read before we do. A client that has ended
    // already, for which the write fails, says why when it is finished.
    try? client.write(Array((settings.joined() + script + "\n").utf8))
    client.closeInput()
    let printed = client.readToEnd()
    try client.finish()
    return String(decoding: printed, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  func run(
    _ script: StaticString, _ variables: [String: String] = [:], in database: String? = nil
  ) throws -> [String] {
    try run("\(script)", variables, in: database)
  }

  /// Writes the tables of `database` as SQL, as they are at one instant. Not its views: schema.sql makes them, and a view
  /// names the account that made it.
  func dump(_ database: String) throws -> [String] {
    let views = try run(BackupScripts.views, ["name": database])
    return ["mariadb-dump"] + options
      + [
        "--single-transaction", "--quick", "--hex-blob", "--no-tablespaces",
        "--default-character-set=utf8mb4",
      ] + views.map { "--ignore-table=\(database).\($0)" } + ["--", database]
  }

  /// The client, which runs what it reads.
  func client(of database: String?) -> [String] {
    ["mariadb"] + options
      + ["--batch", "--skip-column-names", "--default-character-set=utf8mb4"]
      + (database.map { ["--", $0] } ?? [])
  }

  /// Packages of Debian that a backup and a restore need and that are missing.
  package static var missingPackages: [String] {
    [("age", "age"), ("mariadb-dump", "mariadb-client")].filter { !isExecutable($0.0) }.map(\.1)
  }

  /// Whether a name can stand in our scripts, and in a name that we make of it.
  package static func isName(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") }
  }
}

import Base
import Cryptography
import Delivery
import Store

/// Access to the database server as its administrator, with the programs `mariadb` and
/// `mariadb-dump`.
package struct DatabaseAdministrator: Sendable {
  /// Options with the server's place and our account. They hold no password, because other users
  /// see a program's arguments.
  private let options: [String]

  /// - Parameters:
  ///   - optionsFile: option file for the clients of MariaDB (`--defaults-file`); nil for the
  ///     clients' own files and `socket`.
  ///   - socket: path of the server's socket; nil for the clients' default.
  package init(optionsFile: String?, socket: String?) {
    options =
      optionsFile.map { ["--defaults-file=\($0)"] } ?? socket.map { ["--socket=\($0)"] } ?? []
  }

  /// Runs a script with variables.
  ///
  /// - Returns: the lines of its output.
  func run(
    _ script: String, _ variables: [String: String] = [:], in database: String? = nil
  ) throws -> [String] {
    var client = try Pipeline([client(of: database)], from: .us)
    let settings = variables.map { name, value in
      let digits = hexEncoded(Array(value.utf8).span)
      return "SET @\(name) = CONVERT(X'\(digits)' USING utf8mb4) COLLATE utf8mb4_nopad_bin;\n"
    }
    // A script fits into a pipe's buffer, so this write does not wait for the client. If the client
    // has ended and the write fails, `finish` throws the cause.
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

  /// Command that dumps the tables of `database` as SQL, all at one instant. It leaves out the
  /// views: schema.sql creates them, and a view names the account that created it.
  func dump(_ database: String) throws -> [String] {
    let views = try run(BackupScripts.views, ["name": database])
    return ["mariadb-dump"] + options
      + [
        "--single-transaction", "--quick", "--hex-blob", "--no-tablespaces",
        "--default-character-set=utf8mb4",
      ] + views.map { "--ignore-table=\(database).\($0)" } + ["--", database]
  }

  /// Command of the client, which executes its input.
  func client(of database: String?) -> [String] {
    ["mariadb"] + options
      + ["--batch", "--skip-column-names", "--default-character-set=utf8mb4"]
      + (database.map { ["--", $0] } ?? [])
  }

  /// Missing Debian packages that a backup and a restore need.
  package static var missingPackages: [String] {
    [("age", "age"), ("mariadb-dump", "mariadb-client")].filter { !isExecutable($0.0) }.map(\.1)
  }

  /// Whether a database name is safe in our scripts and short enough for our suffixes.
  package static func isName(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count)
      && text.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") }
  }
}

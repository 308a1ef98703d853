import Foundation
package import Logging
import Synchronization

/// Collects what the tests' programs issued, stored and logged. At the end, `Tests/run` searches
/// it: no database and no log may contain a secret.
///
/// The folder is `SWITCHBOARD_EVIDENCE`; without that variable nothing is kept. Its files:
/// `secrets`, one secret a line, which no other file may contain; `NAME.codes`, whose codes no
/// other file of that name may contain as a word; `NAME.sql` and `NAME….log`.
package enum Evidence {
  private static let folder = ProcessInfo.processInfo.environment["SWITCHBOARD_EVIDENCE"]

  /// Members of answers that grant access, and prefixes of pairing tokens and JSON Web Tokens.
  private static let members: Set<String> = [
    "accessToken", "refreshToken", "deviceCredential", "challenge", "api_key", "ticket",
  ]
  private static let prefixes = ["cdev_", "eyJ"]

  /// Keeps the secrets in a JSON answer.
  package static func keep(answer: some Sequence<UInt8>) {
    // Only JSON bodies issue secrets.
    guard folder != nil, let value = try? JSONSerialization.jsonObject(with: Data(answer))
    else { return }
    keep(value)
  }

  private static func keep(_ value: Any) {
    for (name, value) in value as? [String: Any] ?? [:] {
      if let text = value as? String,
        members.contains(name) || prefixes.contains(where: text.hasPrefix)
      {
        keep(secret: text)
      }
      keep(value)
    }
    for element in value as? [Any] ?? [] { keep(element) }
  }

  package static func keep(secret: String) {
    append(secret, to: "secrets")
  }

  /// Starts new evidence files for the next test on this database; tests reuse a database in turn.
  package static func beginTest(on database: String) {
    tests.withLock { $0[database, default: 0] += 1 }
  }

  private static let tests = Mutex<[String: Int]>([:])

  /// The prefix of file names: `NAME-NUMBER` for a database of a test, otherwise `NAME`.
  private static func fileName(of name: String) -> String {
    tests.withLock { $0[name] }.map { "\(name)-\($0)" } ?? name
  }

  /// Keeps a short code, which is searched for only in the files of `name`.
  package static func keep(code: String, of name: String) {
    append(code, to: "\(fileName(of: name)).codes")
  }

  /// A logger whose lines are kept in the log files of `name`.
  package static func log(of name: String) -> Logger {
    let fileName = fileName(of: name)
    return Logger(label: "test") { _ in EvidenceLog(name: fileName) }
  }

  /// Keeps all data of a database.
  static func keep(database: String, of socket: String, user: String, as name: String) {
    guard folder != nil else { return }
    keep(rows: dump(of: database, socket: socket, user: user), of: name)
  }

  /// Keeps rows of a database as text.
  static func keep(rows: String, of name: String) {
    append(rows, to: "\(fileName(of: name)).sql")
  }

  static func keep(log text: String, of name: String) {
    append(text, to: "\(name).log")
  }

  private static func append(_ line: String, to file: String) {
    guard let folder else { return }
    let descriptor = open("\(folder)/\(file)", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    precondition(descriptor >= 0, "\(folder)/\(file) cannot be written")
    defer { close(descriptor) }
    let bytes = Array("\(line)\n".utf8)
    precondition(write(descriptor, bytes, bytes.count) == bytes.count, "\(folder) is full")
  }
}

/// All data of a database as SQL. `mariadb-dump` asks several questions about each table, so it
/// gets only the names of tables that have rows.
func dump(of database: String, socket: String, user: String) -> String {
  let account = ["--no-defaults", "--socket=\(socket)", "--user=\(user)"]
  let names = SQLClient.run(tablesWithRows, socket: socket, user: user, database: database)
  if !names.isDone { recordIssue("no dump of \(database): \(names.printed)") }
  let tables = names.printed.split(separator: "\n").map(String.init)
  if tables.isEmpty || !names.isDone { return "" }
  let options = [
    "--no-create-info", "--skip-triggers", "--skip-lock-tables", "--single-transaction",
  ]
  let (_, sql) = tryCommand("mariadb-dump", account + options + [database] + tables, input: "")
  if !sql.contains("-- Dump completed") { recordIssue("no dump of \(database)") }
  return sql
}

private let tablesWithRows = """
  SET SESSION group_concat_max_len = 1000000;
  SELECT GROUP_CONCAT("(SELECT '", TABLE_NAME, "' FROM `", TABLE_NAME, "` LIMIT 1)" SEPARATOR ' UNION ALL ')
    FROM information_schema.TABLES
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE' INTO @query;
  EXECUTE IMMEDIATE IFNULL(@query, 'DO 0')
  """

private struct EvidenceLog: LogHandler {
  let name: String
  var logLevel = Logger.Level.trace
  var metadata: Logger.Metadata = [:]

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let pairs = (event.metadata ?? [:]).map { " \($0)=\($1)" }
    Evidence.keep(log: "\(event.message)\(pairs.joined())", of: name)
  }
}

import Foundation
package import Logging

/// What the tests' programs issued, stored and logged, for `Tests/run` to search when all is over: no secret may be
/// in a database or a log.
///
/// It is kept in the folder that `SWITCHBOARD_EVIDENCE` names; where none is named, nothing is kept. Files:
/// `secrets`, a line each, which no other file may hold; `NAME.codes`, which the other files of that name may not
/// hold as a word; `NAME.sql` and `NAME….log`.
package enum Evidence {
  private static let folder = ProcessInfo.processInfo.environment["SWITCHBOARD_EVIDENCE"]

  /// The members of answers that let somebody in; and pairing tokens and JSON Web Tokens, wherever they stand.
  private static let members: Set<String> = [
    "accessToken", "refreshToken", "deviceCredential", "challenge", "api_key", "ticket",
  ]
  private static let prefixes = ["cdev_", "eyJ"]

  /// Keeps the secrets that the JSON of an answer hands out.
  package static func keep(answer: some Sequence<UInt8>) {
    // A body of another kind issues nothing.
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

  /// Keeps a code too short to be searched for anywhere but in what belongs to `name`.
  package static func keep(code: String, of name: String) {
    append(code, to: "\(name).codes")
  }

  /// A log whose lines are kept as those of `name`.
  package static func log(of name: String) -> Logger {
    Logger(label: "test") { _ in EvidenceLog(name: name) }
  }

  /// Keeps all data of a database.
  static func keep(database: String, of socket: String, user: String, as name: String) {
    guard folder != nil else { return }
    append(dump(of: database, socket: socket, user: user), to: "\(name).sql")
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

/// All data of a database as SQL, by `mariadb-dump`.
func dump(of database: String, socket: String, user: String) -> String {
  let options = ["--no-defaults", "--no-create-info", "--force"]
  // 2: a view cannot be read, where a test has taken its table away.
  let sql = runCommand(
    "mariadb-dump", options + ["--socket=\(socket)", "--user=\(user)", database], statuses: 0...2)
  precondition(sql.contains("-- Dump completed"), "no dump of \(database)")
  return sql
}

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

import Base
import Cryptography
import Foundation
import MariaDB
import Support
import Testing

@testable import Store

/// A new database, accessed as any of its accounts.
struct TestStore: Sendable {
  let root: ConnectionSettings
  var server = MariaDBServer.shared

  static let mailKeys: MailKeys = {
    let text = "k1:" + base64URLEncoded([UInt8](repeating: 7, count: 32))
    return MailKeys(
      sealing: try! BoxKeys(parsing: text).publicKeys, links: try! Keyring(parsing: text))
  }()

  /// The database with the rights of `account`: `responder`, `companion`, `administrator`.
  ///
  /// - Parameter lockTimeout: the limit for a row that another transaction has locked; nil: longer than a test.
  func database(_ account: String, lockTimeout: Duration? = nil) -> Database {
    var settings = accountSettings(of: account, in: root, on: server).patient
    if let lockTimeout { settings.lockTimeout = lockTimeout }
    return Database(settings, mailKeys: Self.mailKeys)
  }

  /// The records with the rights of `account`, at one time and with one origin.
  func records(
    _ account: String, at now: Timestamp = .now(), lockTimeout: Duration? = nil
  ) -> Records {
    database(account, lockTimeout: lockTimeout)
      .records(at: now, from: Origin(requestID: "request", address: "a"))
  }

  /// The result of SQL as root: one line per row, tabs between columns.
  @discardableResult
  func sql(
    _ statements: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line
  ) -> String {
    server.run(
      statements, database: root.database, fileID: fileID, filePath: filePath, line: line
    )
    .trimmingCharacters(in: .newlines)
  }

  /// The rows of one column.
  func column(_ query: String) -> [String] {
    sql(query).split(separator: "\n", omittingEmptySubsequences: true).map(String.init)
  }

  /// The error of each statement: number and text; nil without an error. No change of a statement stays.
  func errors(of statements: [String]) -> [String?] {
    let blocks = statements.map { statement in
      """
      START TRANSACTION //
      BEGIN NOT ATOMIC
        DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
          GET DIAGNOSTICS CONDITION 1 @number = MYSQL_ERRNO, @words = MESSAGE_TEXT;
          SELECT CONCAT(@number, ' ', @words);
        END;
        \(statement);
        SELECT 'no error';
      END //
      ROLLBACK //
      """
    }
    let printed = sql("DELIMITER //\n" + blocks.joined(separator: "\n"))
    return printed.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0 == "no error" ? nil : String($0) }
  }

  /// The server's refusal of `statement` for the account; nil if it is allowed.
  func refusal(of statement: String, to account: String) -> String? {
    let settings = accountSettings(of: account, in: root, on: server)
    let outcome = runProgram(
      "mariadb",
      [
        "--no-defaults", "--socket=\(settings.socket!)", "--user=\(settings.user)", "--batch",
        "--execute=\(statement)", settings.database,
      ])
    return outcome.status == 0 ? nil : outcome.output
  }
}

/// Calls `body` with a database made by `schema.sql`.
func withStore<T>(_ body: (TestStore) throws -> T) throws -> T {
  try withDatabase { try body(TestStore(root: $0)) }
}

/// Calls `body` with a database on a new server, which may be killed.
func withStoreOnItsOwnServer<T>(_ body: (TestStore) throws -> T) throws -> T {
  let server = MariaDBServer()
  defer { server.kill() }
  server.createDatabase("own", schema: schemaOfTests)
  return try body(TestStore(root: server.settings(database: "own"), server: server))
}

extension Database {
  /// Runs `statement` for its effect.
  func run(_ statement: StaticString, _ parameters: [Parameter] = []) throws {
    _ = try pool.write { connection in try connection.execute(statement, parameters) }
  }
}

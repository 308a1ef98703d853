import Base
import MariaDB
import ProcessSupport
import SharedSettings
import Store

extension Environment {
  /// Opens the database for a command.
  ///
  /// - Parameters:
  ///   - isRehearsal: true changes nothing.
  ///   - mailKeys: nil for a command that sends no mail.
  /// - Throws: ``ConfigurationError`` that names all missing or malformed variables, including
  ///   those read before; ``SchemaMismatch``.
  mutating func openRecords(isRehearsal: Bool = false, mailKeys: MailKeys? = nil) throws -> Records
  {
    let connection = connectionSettings()
    guard complaints.isEmpty else { throw ConfigurationError(complaints) }
    let database = Database(connection, mailKeys: mailKeys)
    try database.requireSchemaVersion()
    return database.records(at: .now(), from: .administrator, isRehearsal: isRehearsal)
  }
}

extension Records {
  /// The database for a command that needs no key.
  ///
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed; ``SchemaMismatch``.
  static func ofCommand(isRehearsal: Bool = false) throws -> Records {
    var environment = Environment.ofProcess()
    return try environment.openRecords(isRehearsal: isRehearsal)
  }

  /// The database for a command that sends mails to owners.
  ///
  /// - Throws: ``ConfigurationError`` that names everything missing or malformed; ``SchemaMismatch``.
  static func ofCommandWithMails(isRehearsal: Bool) throws -> Records {
    var environment = Environment.ofProcess()
    let mailKeys = environment.companionKeys().map { MailKeys(sealing: $0.publicKeys, links: nil) }
    return try environment.openRecords(isRehearsal: isRehearsal, mailKeys: mailKeys)
  }
}

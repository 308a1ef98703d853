package import MariaDB
package import Program

/// All of Switchboard's data: each family extends this with its own statements.
package final class Database: Sendable {
  let pool: Pool

  /// - Parameter beginWaiting: asked before a request waits for the database server to come back;
  ///   false refuses to wait.
  package init(
    _ settings: ConnectionSettings, beginWaiting: @escaping @Sendable () -> Bool = { true }
  ) {
    pool = Pool(settings, beginWaiting: beginWaiting)
  }

  /// Whether `error` says that the database does not answer now, or did not say what became of a
  /// write: the same request may be sent again later.
  package static func isUnavailable(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return error.isUnreachable || error.isConnectionLost || error.isRetryable
      || error.isOutcomeUnknown || error.isTimeout
  }

  /// Asks the server for the version of the schema.
  package func schemaVersion() throws -> Int64 {
    try pool.read { connection in
      try connection.row("SELECT version FROM schema_version") { row in row.integer(0) } ?? 0
    }
  }

  /// Runs a transaction until it has lost no race.
  func repeatingLostRaces<T>(_ body: (inout Connection) throws -> T) throws -> T {
    while true {
      do { return try pool.transaction(body) } catch is LostRace { continue }
    }
  }
}

extension Environment {
  /// The settings of the connection to MariaDB.
  package mutating func connectionSettings() -> ConnectionSettings {
    let host = optional("SWITCHBOARD_DB_HOST")
    let socket = optional("SWITCHBOARD_DB_SOCKET")
    return ConnectionSettings(
      socket: host == nil ? socket ?? "/run/mysqld/mysqld.sock" : nil,
      host: host,
      port: UInt16(integer("SWITCHBOARD_DB_PORT", in: 1...65_535, default: 3306)),
      database: optional("SWITCHBOARD_DB_NAME") ?? "switchboard",
      user: required("SWITCHBOARD_DB_USER", "the MariaDB account of this program"),
      password: optional("SWITCHBOARD_DB_PASSWORD"))
  }
}

/// Where a request came from, for the audit log.
package struct Origin: Sendable {
  /// nginx's `$request_id`.
  package let requestID: String
  /// The caller's address, as the web server gives it.
  package let address: String

  package init(requestID: String, address: String) {
    self.requestID = requestID
    self.address = address
  }
}

/// What a verified access token says of its bearer. Whether the session is still alive only the
/// database knows.
package struct Caller: Sendable {
  /// `sub`
  package let accountID: String
  /// `deviceId`
  package let clientDeviceID: String
  /// `sid`
  package let sessionID: String
  /// `gen`
  package let generation: Int64
  /// SHA-256 of the `X-Device-Credential` that came along, if one did.
  package let credentialHash: [UInt8]?
  /// What `X-Username` names, where the family asks for it: then it must be the account's.
  package var username: String?
  package let origin: Origin

  package init(
    accountID: String, clientDeviceID: String, sessionID: String, generation: Int64,
    credentialHash: [UInt8]?, username: String? = nil, origin: Origin
  ) {
    self.accountID = accountID
    self.clientDeviceID = clientDeviceID
    self.sessionID = sessionID
    self.generation = generation
    self.credentialHash = credentialHash
    self.username = username
    self.origin = origin
  }
}

/// Why the database does not let a request through, whatever the request asks.
package enum Refusal: Error, Equatable {
  /// The session of the access token has ended, or its device is revoked.
  case sessionEnded
  /// The device credential is wrong, expired, or another device's; `account` and `device` are those
  /// that it was shown for.
  case credential(account: String?, device: String?)
  /// The username is not the account's.
  case username
  /// The app has not shown that it is genuine.
  case attestation(AttestationRefusal)
  /// The limit is used up; it is free again after `retryAfter`.
  case rateLimited(retryAfter: Duration)
}

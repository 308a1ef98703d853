/// An error of MariaDB or of the connection to it.
///
/// It carries the statement's text but never a value: the server's message about an executed
/// statement is dropped, because it quotes values (1062 shows the duplicate key).
package struct DatabaseError: Error {
  /// The activity of the client when the error occurred.
  package enum Stage: Sendable {
    /// Connecting, authenticating, setting up the session.
    case connecting
    /// Preparing a statement: nothing has been executed.
    case preparing
    /// Executing a statement or reading its rows.
    case executing
  }

  package let code: Code
  package let stage: Stage
  /// The statement; nil for an error of connecting.
  package let sql: StaticString?
  /// The message of the server or the library. Only from connecting and preparing, where it can
  /// hold no value.
  let message: String?
  /// Whether MariaDB may have executed the statement: the connection was lost after a COMMIT, or a
  /// statement that commits by itself, was sent. ``Pool`` never repeats it.
  package private(set) var isOutcomeUnknown = false

  init(_ code: Code, _ stage: Stage, sql: StaticString? = nil, message: String? = nil) {
    self.code = code
    self.stage = stage
    self.sql = sql
    self.message = stage == .executing ? nil : message
  }

  /// This error of a command that executes nothing, marked as one before the statement.
  var ofPreparing: DatabaseError { DatabaseError(code, .preparing, sql: sql) }

  /// This error, marked as one with an unknown outcome.
  var withUnknownOutcome: DatabaseError {
    var error = self
    error.isOutcomeUnknown = true
    return error
  }
}

extension DatabaseError {
  /// The connection is lost, and with it any transaction that was not committed. The outcome of a
  /// COMMIT can be unknown: ``isOutcomeUnknown``.
  package var isConnectionLost: Bool {
    stage != .connecting && Code.lost.contains(code)
  }

  /// The connection cannot be used any more: it is lost, or client and server are out of step.
  var breaksConnection: Bool {
    stage == .connecting || isConnectionLost || code.isOfClient || code == .packetTooLarge
  }

  /// No connection can be made for now: the server is down, starting, stopping or full.
  package var isUnreachable: Bool {
    stage == .connecting && (Code.unreachable.contains(code) || Code.lost.contains(code))
  }

  /// The server is not MariaDB.
  package var isForeign: Bool { code == .foreign }

  /// The server rejects this program: its account or password is wrong.
  package var isRefused: Bool { stage == .connecting && code == .accessDenied }

  /// The server or an account has reached its limit of connections.
  package var isCrowded: Bool { stage == .connecting && Code.crowded.contains(code) }

  /// The server has reached its limit of prepared statements, which all its clients share.
  package var isOutOfStatements: Bool { code == .statementLimit }

  /// The server has ended the statement because it took too long: the server is overloaded.
  package var isTimeout: Bool { code == .statementTimeout }

  /// The server refuses every write for now: it is a replica, or an administrator has made it read-only.
  package var isReadOnly: Bool { Code.readOnlyServer.contains(code) }

  /// The server rejected the statement unread, and another server may accept it: this one is
  /// read-only, or a Galera node that does not belong to the cluster now.
  var isUnfit: Bool { stage != .connecting && (isReadOnly || code == .nodeNotReady) }

  /// The server cannot write: most often its disk is full.
  package var isStorageFull: Bool { Code.storageFull.contains(code) }

  /// Another transaction or node prevented the statement, and nothing was written: a deadlock, a
  /// lock wait, a Galera node that is not ready or refuses to commit.
  package var isConflict: Bool { !isOutcomeUnknown && Code.conflicts.contains(code) }

  /// The whole transaction may be run again: a conflict, or a foreign key to a row that was deleted
  /// after the transaction read it.
  package var isRetryable: Bool { isConflict || !isOutcomeUnknown && code == .noReferencedRow }

  /// Whether the server certainly did not execute the statement.
  ///
  /// The library reports 2006 only if the command could not be sent whole.
  var isNothingExecuted: Bool {
    stage != .executing || code == .serverGone || code == .packetTooLarge
  }
}

extension DatabaseError {
  /// - Parameter version: the version in the server's greeting.
  static func isForeign(version: String) -> DatabaseError {
    DatabaseError(
      .foreign, .connecting,
      message: "the database server is not MariaDB but MySQL, or one that calls itself \(version): "
        + "install MariaDB 10.11 or later, and let SWITCHBOARD_DB_SOCKET or SWITCHBOARD_DB_HOST name it"
    )
  }

  /// An error number of the server (1000…1999, 3000…) or of the client library (2000…2999, 5000…).
  package struct Code: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    package static let noSpace = Code(rawValue: 28)  // ENOSPC
    package static let recordChanged = Code(rawValue: 1020)  // ER_CHECKREAD
    package static let diskFull = Code(rawValue: 1021)  // ER_DISK_FULL
    package static let writeFailed = Code(rawValue: 1026)  // ER_ERROR_ON_WRITE
    package static let storageFailed = Code(rawValue: 1030)  // ER_GET_ERRNO
    package static let tooManyConnections = Code(rawValue: 1040)  // ER_CON_COUNT_ERROR
    package static let accessDenied = Code(rawValue: 1045)  // ER_ACCESS_DENIED_ERROR
    package static let nodeNotReady = Code(rawValue: 1047)  // ER_UNKNOWN_COM_ERROR, Galera
    package static let shutdown = Code(rawValue: 1053)  // ER_SERVER_SHUTDOWN
    package static let duplicateEntry = Code(rawValue: 1062)  // ER_DUP_ENTRY
    package static let tableFull = Code(rawValue: 1114)  // ER_RECORD_FILE_FULL
    package static let packetTooLarge = Code(rawValue: 1153)  // ER_NET_PACKET_TOO_LARGE
    package static let commitRefused = Code(rawValue: 1180)  // ER_ERROR_DURING_COMMIT, Galera
    package static let tooManyUserConnections = Code(rawValue: 1203)
    package static let lockWaitTimeout = Code(rawValue: 1205)  // ER_LOCK_WAIT_TIMEOUT
    package static let deadlock = Code(rawValue: 1213)  // ER_LOCK_DEADLOCK
    package static let userLimitReached = Code(rawValue: 1226)  // ER_USER_LIMIT_REACHED
    package static let readOnly = Code(rawValue: 1290)  // ER_OPTION_PREVENTS_STATEMENT
    package static let noReferencedRow = Code(rawValue: 1452)  // ER_NO_REFERENCED_ROW_2
    package static let statementLimit = Code(rawValue: 1461)  // ER_MAX_PREPARED_STMT_COUNT_REACHED
    package static let readOnlyMode = Code(rawValue: 1836)  // ER_READ_ONLY_MODE
    package static let connectionKilled = Code(rawValue: 1927)  // ER_CONNECTION_KILLED
    package static let statementTimeout = Code(rawValue: 1969)  // ER_STATEMENT_TIMEOUT
    package static let socketUnreachable = Code(rawValue: 2002)  // CR_CONNECTION_ERROR
    package static let hostUnreachable = Code(rawValue: 2003)  // CR_CONN_HOST_ERROR
    package static let unknownHost = Code(rawValue: 2005)  // CR_UNKNOWN_HOST
    package static let serverGone = Code(rawValue: 2006)  // CR_SERVER_GONE_ERROR
    package static let outOfMemory = Code(rawValue: 2008)  // CR_OUT_OF_MEMORY
    package static let handshake = Code(rawValue: 2012)  // CR_SERVER_HANDSHAKE_ERR
    package static let connectionLost = Code(rawValue: 2013)  // CR_SERVER_LOST

    /// Our own code: the server is known not to answer.
    static let silent = Code(rawValue: 0)
    /// Our own code: the server is not MariaDB.
    static let foreign = Code(rawValue: 1)

    static let lost: Set = [shutdown, connectionKilled, serverGone, connectionLost]
    static let conflicts: Set = [
      recordChanged, nodeNotReady, commitRefused, lockWaitTimeout, deadlock,
    ]
    static let readOnlyServer: Set = [readOnly, readOnlyMode]
    static let storageFull: Set = [noSpace, diskFull, writeFailed, storageFailed, tableFull]
    static let crowded: Set = [tooManyConnections, tooManyUserConnections, userLimitReached]
    static let unreachable: Set = [
      tooManyConnections, tooManyUserConnections, nodeNotReady, socketUnreachable,
      userLimitReached, hostUnreachable, unknownHost, handshake, silent, readOnlyMode,
    ]

    /// An error of the client library: it has lost track of the conversation with the server.
    var isOfClient: Bool { (2000...2999).contains(rawValue) || (5000...5999).contains(rawValue) }
  }
}

extension DatabaseError: CustomStringConvertible {
  /// One line for the log: code, statement, no value.
  package var description: String {
    if code == .foreign, let message { return message }
    var text = code == .silent ? "MariaDB" : "MariaDB error \(code.rawValue)"
    if isOutcomeUnknown { text += ", outcome unknown" }
    if let message { text += ": \(message)" }
    if let sql {
      text += " in: " + sql.description.split { $0.isWhitespace }.joined(separator: " ")
    }
    return text
  }
}

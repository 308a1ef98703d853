package import Base
import MariaDB

/// All of Switchboard's data, behind a pool of connections.
package final class Database: Sendable {
  let pool: Pool
  let rooms: [Room]
  /// nil where no mail is posted.
  let mailKeys: MailKeys?

  /// - Parameters:
  ///   - rooms: what the rooms declare about their rows.
  ///   - mailKeys: nil where no mail is posted.
  ///   - beginWaiting: asked before a request waits for the database server to come back; false
  ///     refuses to wait.
  init(
    _ settings: ConnectionSettings, rooms: [Room], mailKeys: MailKeys?,
    beginWaiting: @escaping @Sendable () -> Bool
  ) {
    pool = Pool(settings, beginWaiting: beginWaiting)
    self.rooms = rooms
    self.mailKeys = mailKeys
  }

  /// The database as a request or a pass uses it.
  ///
  /// - Parameters:
  ///   - now: the request's time. Leases and the outbox live by the database's clock instead.
  ///   - isRehearsal: whether each transaction is rolled back at its end.
  package func records(
    at now: Timestamp, from origin: Origin, isRehearsal: Bool = false
  ) -> Records {
    Records(database: self, now: now, origin: origin, isRehearsal: isRehearsal)
  }

  /// Whether `error` says that the database does not answer, lets nobody in or takes no writes now, or did not say
  /// what became of a write: the same request may be sent again later.
  package static func isUnavailable(_ error: any Error) -> Bool {
    guard let error = error as? DatabaseError else { return false }
    return error.isUnreachable || error.isConnectionLost || error.isOutcomeUnknown
      || error.isTimeout || error.isConflict || error.isReadOnly || error.isStorageFull
      || error.isRefused
  }

  /// The database's clock.
  package func now() throws -> Timestamp {
    try pool.read { connection in
      try connection.row("SELECT UTC_TIMESTAMP(3)") { row in row.timestamp(0) }!  // always one row
    }
  }
}

extension Database {
  /// Where a database of this machine keeps its files; nil where it may be another machine's.
  package func localDataDirectory() throws -> String? {
    guard pool.isLocal else { return nil }
    return try pool.read { connection in
      try connection.row("SELECT @@datadir") { row in row.text(0) }
    }
  }
}

/// Where a request came from.
package struct Origin: Sendable {
  /// nginx's `$request_id`.
  package let requestID: String
  /// The caller's address, as the web server gives it.
  package let address: String
  /// The app that sent it, as it names itself: Apple's bundle id; nil: it did not.
  package let bundleID: String?

  package init(requestID: String, address: String, bundleID: String? = nil) {
    self.requestID = requestID
    self.address = address
    self.bundleID = bundleID
  }

  /// The companion's own work.
  package static let companion = Origin(requestID: "switchboard-companion", address: "")

  /// Somebody at a terminal of this site.
  package static let administrator = Origin(requestID: "administrator", address: "")

  /// As much of the address as the columns for it hold, without control characters.
  var storedAddress: String { address.cut(to: 45).withoutControls }

  /// As much of the request id as the columns for it hold, without control characters.
  var storedRequestID: String { requestID.cut(to: 64).withoutControls }
}

package import Base
import MariaDB
import StoreCore

/// All of Switchboard's data, behind a pool of connections.
package final class Database: Sendable {
  let pool: Pool
  let rooms: [Room]
  /// nil if no mail is posted.
  let mailKeys: MailKeys?

  /// - Parameters:
  ///   - rooms: the declarations of the rooms about their rows.
  ///   - mailKeys: nil if no mail is posted.
  ///   - beginWaiting: called before a request waits for the database server to come back; false
  ///     makes the request fail at once.
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
  ///   - now: the request's time. Leases and the outbox use the database's clock instead.
  ///   - isRehearsal: whether each transaction is rolled back at its end.
  package func records(
    at now: Timestamp, from origin: Origin, isRehearsal: Bool = false
  ) -> Records {
    Records(database: self, now: now, origin: origin, isRehearsal: isRehearsal)
  }

  /// Whether `error` means that the database does not answer, rejects us, or accepts no writes now,
  /// or that the outcome of a write is unknown: the same request may be sent again later.
  package static func isUnavailable(_ error: any Error) -> Bool {
    (error as? DatabaseError)?.isUnavailability ?? false
  }

  /// Whether `error` means that no connection to the database can be made now.
  package static func isUnreachable(_ error: any Error) -> Bool {
    (error as? DatabaseError)?.isUnreachable ?? false
  }

  /// The database's clock.
  package func now() throws -> Timestamp {
    try pool.read { connection in
      try connection.row("SELECT UTC_TIMESTAMP(3)") { row in row.timestamp(0) }!  // always one row
    }
  }
}

extension Database {
  /// The data directory of a database on this machine; nil if it may be on another machine.
  package func localDataDirectory() throws -> String? {
    guard pool.isLocal else { return nil }
    return try pool.read { connection in
      try connection.row("SELECT @@datadir") { row in row.text(0) }
    }
  }
}

/// The origin of a request.
package struct Origin: Sendable {
  /// nginx's `$request_id`.
  package let requestID: String
  /// The caller's address, as the web server gives it.
  package let address: String
  /// The app that sent it, by Apple's bundle id; nil if it did not name itself.
  package let bundleID: String?

  package init(requestID: String, address: String, bundleID: String? = nil) {
    self.requestID = requestID
    self.address = address
    self.bundleID = bundleID
  }

  /// The companion's own work.
  package static let companion = Origin(requestID: "switchboard-companion", address: "")

  /// An administrator at a terminal of this site.
  package static let administrator = Origin(requestID: "administrator", address: "")

  /// The address, cut to the size of its columns, without control characters.
  var storedAddress: String { address.cut(to: 45).withoutControls }

  /// The request id, cut to the size of its columns, without control characters.
  var storedRequestID: String { requestID.cut(to: 64).withoutControls }
}

import Base
import Cryptography
import MariaDB

/// One transaction, or the reads of one attempt, at one instant and for one origin.
///
/// Statements are methods of small types that the rooms reach through this: `transaction.sessions`.
package struct Transaction: ~Copyable {
  let connection: Connection
  let records: Records

  init(connection: Connection, records: Records) {
    self.connection = connection
    self.records = records
  }

  /// The same transaction, for a type whose statements run in it.
  init(sharing other: borrowing Transaction) {
    self.init(connection: other.connection, records: other.records)
  }

  var now: Timestamp { records.now }
  var origin: Origin { records.origin }
  var rooms: [Room] { records.database.rooms }

  /// A new identifier that sorts by time.
  func makeID() -> String { timeOrderedUUID(milliseconds: now.milliseconds) }
}

extension Parameter {
  static func time(_ instant: Timestamp) -> Parameter {
    .dateTime(milliseconds: instant.milliseconds)
  }

  static func time(_ instant: Timestamp?) -> Parameter { instant.map { .time($0) } ?? .null }
}

extension Row {
  /// A DATETIME column, read as UTC.
  func timestamp(_ column: Int) -> Timestamp { Timestamp(milliseconds: milliseconds(column)) }

  /// ``timestamp(_:)``, or nil for NULL.
  func optionalTimestamp(_ column: Int) -> Timestamp? { isNull(column) ? nil : timestamp(column) }
}

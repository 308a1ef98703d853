package import Base
import MariaDB

/// What an account has in a room, as its owner sees, downloads and removes it. It shows no secret and no
/// hash. Each room declares its own.
package struct Holding: Sendable {
  /// A column of the statement after the id, by its name in the download.
  package enum Column: Sendable {
    case text(StaticString)
    case time(StaticString)
    case number(StaticString)
    case flag(StaticString)
  }

  /// The member of the download, and what the page's forms call it.
  package let name: StaticString
  package let columns: [Column]
  /// Selects the id and the columns. Parameters: account id, LIMIT.
  let statement: StaticString
  /// Removes one of an account's; false if the account has no such one. The account is locked.
  let remove: (@Sendable (borrowing Transaction, _ id: String, _ account: String) throws -> Bool)?

  init(
    _ name: StaticString, _ columns: [Column], _ statement: StaticString,
    remove: (@Sendable (borrowing Transaction, _ id: String, _ account: String) throws -> Bool)? =
      nil
  ) {
    self.name = name
    self.columns = columns
    self.statement = statement
    self.remove = remove
  }
}

/// One of what an account has.
package struct HeldItem: Sendable {
  package enum Value: Sendable {
    case text(String?)
    case time(Timestamp?)
    case number(Int64?)
    case flag(Bool)
  }

  package let id: String
  /// In the order of ``Holding/columns``.
  package let values: [Value]
}

extension HeldItem {
  init(row: borrowing Row, columns: [Holding.Column]) {
    id = row.text(0)
    var values: [Value] = []
    for (index, column) in columns.enumerated() {
      switch column {
      case .text: values.append(.text(row.optionalText(index + 1)))
      case .time: values.append(.time(row.optionalTimestamp(index + 1)))
      case .number: values.append(.number(row.optionalInteger(index + 1)))
      case .flag: values.append(.flag(row.boolean(index + 1)))
      }
    }
    self.values = values
  }
}

/// What an account has of one kind.
package struct HeldItems: Sendable {
  package let holding: Holding
  package let items: [HeldItem]
}

extension Transaction {
  /// What the account has of each kind, at most `limit` of one.
  func holdings(of account: String, limit: Int64) throws(DatabaseError) -> [HeldItems] {
    var all: [HeldItems] = []
    for holding in rooms.flatMap(\.holdings) {
      let items = try connection.rows(
        holding.statement, [.text(account), .integer(limit)]
      ) { row in HeldItem(row: row, columns: holding.columns) }
      all.append(HeldItems(holding: holding, items: items))
    }
    return all
  }
}

package import Base
import MariaDB

/// One item that an account has.
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

/// The items of one kind that an account has.
package struct HeldItems: Sendable {
  package let holding: Holding
  package let items: [HeldItem]
}

extension Transaction {
  /// The items of each kind that the account has, at most `limit` of a kind.
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

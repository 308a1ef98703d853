package import Base
import MariaDB

/// One item that an account has.
package struct AccountItem: Sendable {
  package enum Value: Sendable {
    case text(String?)
    case time(Timestamp?)
    case number(Int64?)
    case flag(Bool)
  }

  package let id: String
  /// In the order of ``AccountData/columns``.
  package let values: [Value]
}

extension AccountItem {
  init(row: borrowing Row, columns: [AccountData.Column]) {
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
package struct AccountItems: Sendable {
  package let data: AccountData
  package let items: [AccountItem]
}

extension Transaction {
  /// The items of each kind that the account has, at most `limit` of a kind.
  func accountData(of account: String, limit: Int64) throws(DatabaseError) -> [AccountItems] {
    var all: [AccountItems] = []
    for data in rooms.flatMap(\.accountData) {
      let time: [Parameter] = data.selectsUnexpired ? [.time(now)] : []
      let items = try connection.rows(
        data.statement, time + [.text(account), .integer(limit)]
      ) { row in AccountItem(row: row, columns: data.columns) }
      all.append(AccountItems(data: data, items: items))
    }
    return all
  }
}

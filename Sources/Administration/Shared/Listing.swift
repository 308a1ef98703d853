package import Base
import Store

/// Rows that a command lists: a table whose columns are aligned, or a JSON array of objects.
package struct Listing: Sendable {
  package enum Value: Sendable {
    case text(String?)
    case time(Timestamp?)
    case number(Int64?)
    case flag(Bool)
    /// Several words in one column; an array in JSON.
    case words([String])
  }

  /// Member of the JSON document.
  let name: StaticString
  /// Members of each row in JSON, and headings of the table.
  let columns: [StaticString]
  let rows: [[Value]]
  /// Whether there are more rows.
  let isMore: Bool

  init<Row>(
    _ name: StaticString, _ columns: [StaticString], of found: FirstRows<Row>,
    _ row: (Row) -> [Value]
  ) {
    self.init(name, columns, of: found.rows, isMore: found.isMore, row)
  }

  init<Row>(
    _ name: StaticString, _ columns: [StaticString], of found: [Row], isMore: Bool = false,
    _ row: (Row) -> [Value]
  ) {
    self.name = name
    self.columns = columns
    rows = found.map(row)
    self.isMore = isMore
  }

  fileprivate var lines: [String] {
    let table = [columns.map(\.heading)] + rows.map { row in row.map(\.text) }
    let widths = columns.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
    return table.map { row in
      zip(row, widths).map { $0.padded(to: $1) }.joined(separator: "  ").trimmingSpaces
    } + (isMore ? ["There are more: --limit shows more of them."] : [])
  }
}

/// One or more lists that answer one command.
package struct Report: CommandAnswer, Sendable {
  let listings: [Listing]

  init(_ listings: Listing...) { self.listings = listings }

  package var text: String {
    listings.map { $0.lines.joined(separator: "\n") }.joined(separator: "\n\n")
  }

  package var json: [UInt8] {
    JSONWriter.object { json in
      for listing in listings {
        json.member(listing.name, array: { array in listing.write(into: &array) })
      }
      json.member("is_more", listings.contains(where: \.isMore))
    }
  }
}

extension Listing {
  fileprivate func write(into array: inout JSONWriter) {
    for row in rows {
      array.object { json in
        for (column, value) in zip(columns, row) { value.write(as: column, into: &json) }
      }
    }
  }
}

extension Listing.Value {
  fileprivate var text: String {
    switch self {
    case .text(let text): text.map(\.printable) ?? "-"
    case .time(let time): time?.rfc3339 ?? "-"
    case .number(let number): number.map { "\($0)" } ?? "-"
    case .flag(let flag): flag ? "yes" : "no"
    case .words(let words): words.isEmpty ? "-" : words.map(\.printable).joined(separator: " ")
    }
  }

  fileprivate func write(as name: StaticString, into json: inout JSONWriter) {
    switch self {
    case .text(let text): json.member(name, text)
    case .time(let time): json.member(name, time?.rfc3339)
    case .number(let number?): json.member(name, number)
    case .number(nil): json.member(name, nil)
    case .flag(let flag): json.member(name, flag)
    case .words(let words): json.member(name, json: JSONWriter.array(of: words))
    }
  }
}

extension StaticString {
  /// Heading of a column: `LAST USED` for `last_used_at`.
  fileprivate var heading: String {
    let words = description.split(separator: "_")
    return (words.last == "at" ? words.dropLast() : words).joined(separator: " ").uppercased()
  }
}

extension String {
  fileprivate var trimmingSpaces: String {
    String(reversed().drop { $0 == " " }.reversed())
  }
}

extension String {
  /// Start of a device token, enough for people to recognize it.
  var tokenPreview: String { count > 16 ? prefix(16) + "…" : self }
}

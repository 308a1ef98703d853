/// The first rows of a list.
package struct FirstRows<Row: Sendable>: Sendable {
  package let rows: [Row]
  /// Whether the list has more than these.
  package let isMore: Bool

  /// - Parameter found: the rows, read with a limit of one more than `limit`.
  init(_ found: [Row], limit: Int) {
    rows = Array(found.prefix(limit))
    isMore = found.count > limit
  }
}

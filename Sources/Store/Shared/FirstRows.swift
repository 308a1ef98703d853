/// The first rows of what a list has.
package struct FirstRows<Row: Sendable>: Sendable {
  package let rows: [Row]
  /// Whether the list has more than these.
  package let isMore: Bool

  /// - Parameter found: the rows that were read with a limit of one more than `limit`.
  init(_ found: [Row], limit: Int) {
    rows = Array(found.prefix(limit))
    isMore = found.count > limit
  }
}

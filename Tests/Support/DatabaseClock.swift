/// Reads the time of the database's clock.
package let databaseClock = "SELECT UTC_TIMESTAMP(3)"

/// Selects 1 if the time in `column` is `seconds` after some moment between `began` and now, by the
/// database's clock. The check is exact, however long the write and the query take.
package func isAhead(
  _ column: String, in rows: String, by seconds: ClosedRange<Int>, since began: String
) -> String {
  """
  SELECT \(column) BETWEEN '\(began)' + INTERVAL \(seconds.lowerBound) SECOND
    AND UTC_TIMESTAMP(3) + INTERVAL \(seconds.upperBound) SECOND FROM \(rows)
  """
}

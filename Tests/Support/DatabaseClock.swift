/// Asks for the time, by the database's clock.
package let databaseClock = "SELECT UTC_TIMESTAMP(3)"

/// Asks for 1 if the time in `column` is so many seconds after a moment between `began` and now, by the database's
/// clock: however long the writing and the look at it take, no second is given away.
package func isAhead(
  _ column: String, in rows: String, by seconds: ClosedRange<Int>, since began: String
) -> String {
  """
  SELECT \(column) BETWEEN '\(began)' + INTERVAL \(seconds.lowerBound) SECOND
    AND UTC_TIMESTAMP(3) + INTERVAL \(seconds.upperBound) SECOND FROM \(rows)
  """
}

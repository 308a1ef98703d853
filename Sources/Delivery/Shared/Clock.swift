/// Describes the problem of a clock that differs by `difference`; nil up to a minute.
///
/// - Parameter other: owner of the other clock in the possessive form, such as "the database's".
func clockProblem(_ difference: Duration, from other: String) -> String? {
  let seconds = difference.components.seconds
  guard abs(seconds) > 60 else { return nil }
  return
    "The companion's clock is \(abs(seconds)) seconds \(seconds > 0 ? "ahead of" : "behind") \(other)."
}

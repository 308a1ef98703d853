/// Why a clock that differs by `difference` is wrong; nil up to a minute.
///
/// - Parameter other: the other clock's owner, in the genitive.
func clockProblem(_ difference: Duration, from other: String) -> String? {
  let seconds = difference.components.seconds
  guard abs(seconds) > 60 else { return nil }
  return
    "The companion's clock is \(abs(seconds)) seconds \(seconds > 0 ? "ahead of" : "behind") \(other)."
}

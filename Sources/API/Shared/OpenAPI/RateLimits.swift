import Base
import Store

/// A limit in the description of the API.
extension Limit {
  /// For people.
  var sentence: String { "At most \(allowed) \(counts) \(time) for each \(per)." }

  /// For programs: an element of `x-rate-limits`.
  var json: JSONValue {
    [
      "name": .string(name), "allowed": .number(Int(allowed)),
      "seconds": .number(Int(window.components.seconds)), "counts": .string(counts),
      "per": .string(per),
    ]
  }

  /// The window in words.
  var time: String {
    switch window.components.seconds {
    case 60: "a minute"
    case 3600: "an hour"
    case 86_400: "a day"
    case let seconds: "in \(seconds / 60) minutes"
    }
  }
}

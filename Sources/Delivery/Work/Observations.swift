import Store
import Synchronization

/// What the companion has seen of conditions, and what it has counted, since it last wrote them down. Used by all its
/// threads.
final class Observations: Sendable {
  struct Seen {
    var conditions: [Observation] = []
    var counts: [Count] = []
  }

  private let seen = Mutex(Seen())
  /// The last word on each thing, also after ``take()``; empty where all was well.
  private let lastReasons = Mutex<[String: String]>([:])

  /// Notes how something is; the last word counts.
  ///
  /// - Parameters:
  ///   - subject: which one, where there are several.
  ///   - reason: why it fails, a whole sentence; nil where all is well.
  func note(_ name: Condition.Name, of subject: String = "", _ reason: String?) {
    seen.withLock { seen in
      seen.conditions.removeAll { $0.name == name && $0.subject == subject }
      seen.conditions.append(Observation(name, subject: subject, reason))
    }
    lastReasons.withLock { $0["\(name) \(subject)"] = reason ?? "" }
  }

  /// The last word on how something is; nil before the first one. Empty where all was well.
  func lastReason(of name: Condition.Name, subject: String = "") -> String? {
    lastReasons.withLock { $0["\(name) \(subject)"] }
  }

  /// Counts `number` things more.
  func tally(_ name: Count.Name, _ outcome: String, by number: Int = 1) {
    guard number > 0 else { return }
    seen.withLock { seen in
      let index = seen.counts.firstIndex { $0.name == name && $0.outcome == outcome }
      if let index {
        seen.counts[index].number += Int64(number)
      } else {
        seen.counts.append(Count(name, outcome, Int64(number)))
      }
    }
  }

  /// Everything since the last call.
  func take() -> Seen {
    seen.withLock { seen in
      defer { seen = Seen() }
      return seen
    }
  }
}

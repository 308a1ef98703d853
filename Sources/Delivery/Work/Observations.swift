import Store
import Synchronization

/// The companion's observations and counts since it last stored them. Used by all its threads.
final class Observations: Sendable {
  struct Seen {
    var conditions: [Observation] = []
    var counts: [Count] = []
  }

  private let seen = Mutex(Seen())
  /// Last reason for each name and subject, also after ``take()``; empty if there was no problem.
  private let lastReasons = Mutex<[String: String]>([:])

  /// Notes a state; a later note replaces an earlier one.
  ///
  /// - Parameters:
  ///   - subject: one of several subjects with the same name, such as a bank.
  ///   - reason: the problem as a whole sentence; nil if there is none.
  func note(_ name: Condition.Name, of subject: String = "", _ reason: String?) {
    seen.withLock { seen in
      seen.conditions.removeAll { $0.name == name && $0.subject == subject }
      seen.conditions.append(Observation(name, subject: subject, reason))
    }
    lastReasons.withLock { $0["\(name) \(subject)"] = reason ?? "" }
  }

  /// The last noted reason; nil before the first note, empty if there was no problem.
  func lastReason(of name: Condition.Name, subject: String = "") -> String? {
    lastReasons.withLock { $0["\(name) \(subject)"] }
  }

  /// Adds `number` to a count.
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

  /// Returns the observations and counts since the last call.
  func take() -> Seen {
    seen.withLock { seen in
      defer { seen = Seen() }
      return seen
    }
  }
}

import Store
import Synchronization

/// Results of the companion's checks, and its counts, since it last stored them. Used by all its threads.
final class ProblemLog: Sendable {
  struct Seen {
    var checks: [ProblemCheck] = []
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
  func note(_ name: Problem.Name, of subject: String = "", _ reason: String?) {
    seen.withLock { seen in
      seen.checks.removeAll { $0.name == name && $0.subject == subject }
      seen.checks.append(ProblemCheck(name, subject: subject, reason))
    }
    lastReasons.withLock { $0["\(name) \(subject)"] = reason ?? "" }
  }

  /// The last noted reason; nil before the first note, empty if there was no problem.
  func lastReason(of name: Problem.Name, subject: String = "") -> String? {
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

  /// Returns the results and counts since the last call.
  func take() -> Seen {
    seen.withLock { seen in
      defer { seen = Seen() }
      return seen
    }
  }
}

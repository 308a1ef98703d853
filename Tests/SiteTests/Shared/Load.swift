import Foundation
import Support
import Synchronization
import Testing

extension Site {
  /// The number of answers with each status while `body` runs, on eight connections of which four
  /// write.
  ///
  /// The four repeat one write, which the rate limit does not count.
  func underLoad(by person: Person, _ body: () throws -> Void) throws -> [Int: Int] {
    let counts = Mutex<[Int: Int]>([:])
    let isOver = Atomic(false)
    let threads = (0..<8).map { index in
      let write = ["--data", #"{"push_enabled":true,"if_version":0}"#]
      let options = ["--header", "Authorization: Bearer \(person.token)"]
      return Thread {
        repeat {
          let batch = statuses(
            of: 100, "/api/v1/device-prefs", index < 4 ? options : options + write)
          counts.withLock { counts in
            for status in batch { counts[status, default: 0] += 1 }
          }
        } while !isOver.load(ordering: .relaxed)
      }
    }
    for thread in threads { thread.start() }
    let outcome = Result { try body() }
    isOver.store(true, ordering: .relaxed)
    wait(for: "the end of the clients") { threads.allSatisfy(\.isFinished) }
    try outcome.get()
    return counts.withLock { $0 }
  }

  /// Ends a program like systemd, and waits for its successor.
  func restart(_ program: String, sourceLocation: SourceLocation = #_sourceLocation) {
    guard let ended = pid(of: program) else {
      Issue.record("\(program) does not run", sourceLocation: sourceLocation)
      return
    }
    kill(ended, SIGTERM)
    wait(for: "another process of \(program)") {
      let successor = pid(of: program)
      return successor != nil && successor != ended
    }
  }
}

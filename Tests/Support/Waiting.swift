import Foundation
import Synchronization

#if canImport(Testing)
  import Testing
#endif

/// Waits for an event: until `condition` holds.
///
/// There is no limit of time, because no test may depend on how fast the machine is. If the event never comes,
/// ``Watchdog`` ends the process and prints `event`.
package func wait(
  for event: @autoclosure () -> String, file: StaticString = #fileID, line: Int = #line,
  until condition: () throws -> Bool
) rethrows {
  if try condition() { return }
  try waiting(for: event(), file: file, line: line) {
    while try !condition() { usleep(20_000) }
  }
}

/// Calls `body`, which blocks until `event`. ``Watchdog`` ends the process if it never comes.
package func waiting<T>(
  for event: @autoclosure () -> String, file: StaticString = #fileID, line: Int = #line,
  _ body: () throws -> T
) rethrows -> T {
  let wait = Watchdog.begin("waits for \(event())", file, line)
  defer { Watchdog.end(wait) }
  return try body()
}

/// The name of the running test; nil on a thread that is not the test's own.
package var nameOfTest: String? {
  // The static library of Swift, which released programs have, is without Testing.
  #if canImport(Testing)
    Test.current?.name
  #else
    nil
  #endif
}

/// Ends a process of tests in which a test waits for an event that does not come.
package enum Watchdog {
  private struct State {
    var clock = WaitClock()
    var isRunning = false
  }

  private static let state = Mutex(State())
  private static let tick = 0.01

  /// Seconds, from `SWITCHBOARD_TEST_LIMIT`.
  private static let limit =
    ProcessInfo.processInfo.environment["SWITCHBOARD_TEST_LIMIT"].flatMap { Int($0) } ?? 1200

  /// Notes what a test waits for, and begins to watch.
  ///
  /// - Parameter isLimited: false for what may take as long as it likes, as long as anything else begins or ends.
  static func begin(
    _ what: String, _ file: StaticString, _ line: Int, isLimited: Bool = true
  ) -> Int {
    let test = nameOfTest.map { "\($0) " } ?? ""
    return state.withLock { state in
      if !state.isRunning {
        state.isRunning = true
        Thread.detachNewThread { watch() }
      }
      return state.clock.begin("\(test)(\(file):\(line)) \(what)", isLimited: isLimited)
    }
  }

  static func end(_ wait: Int) { state.withLock { $0.clock.end(wait) } }

  private static func watch() {
    while true {
      // Short, because while the process is stopped or has no processor, one tick passes, whatever the time.
      usleep(UInt32(tick * 1_000_000))
      let sentences = state.withLock { state in
        state.clock.tick()
        return state.clock.sentences(limit: Int(Double(limit) / tick))
      }
      guard !sentences.isEmpty else { continue }
      let lines = ["The tests have waited for \(limit) s (SWITCHBOARD_TEST_LIMIT) in vain:"]
      FileHandle.standardError.write(
        Data((lines + sentences).map { "✘ \($0)\n" }.joined().utf8))
      fflush(nil)
      _exit(1)
    }
  }
}

/// Counts for how long each wait has lasted, in ticks during which the process ran.
package struct WaitClock {
  private struct Wait {
    let what: String
    let isLimited: Bool
    let since: Int
  }

  private var waits: [Int: Wait] = [:]
  private var count = 0
  private var now = 0
  /// The last time that a wait began or ended.
  private var changedAt = 0

  package init() {}

  package mutating func begin(_ what: String, isLimited: Bool = true) -> Int {
    count += 1
    changedAt = now
    waits[count] = Wait(what: what, isLimited: isLimited, since: now)
    return count
  }

  package mutating func end(_ wait: Int) {
    changedAt = now
    waits[wait] = nil
  }

  package mutating func tick() { now += 1 }

  /// All waits, in order, if one has lasted `limit` ticks or nothing has changed for so long; otherwise none.
  package func sentences(limit: Int) -> [String] {
    let isStuck =
      now - changedAt >= limit || waits.values.contains { $0.isLimited && now - $0.since >= limit }
    return isStuck ? waits.keys.sorted().map { waits[$0]!.what } : []
  }
}

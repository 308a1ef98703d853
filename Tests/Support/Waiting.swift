import Foundation
import Synchronization

#if canImport(Testing)
  import Testing
#endif

/// Waits for an event: until `condition` holds.
///
/// There is no limit of time, because no test may depend on how fast the machine is. If the event never comes,
/// ``Watchdog`` ends the process and prints `event`, with what it says about a second before.
///
/// - Parameter pause: microseconds between two looks.
package func wait(
  for event: @autoclosure () -> String, pause: UInt32 = 20_000, file: StaticString = #fileID,
  line: Int = #line, until condition: () throws -> Bool
) rethrows {
  if try condition() { return }
  let (first, begin) = (event(), ContinuousClock.now)
  let wait = Watchdog.begin("waits for \(first)", file, line)
  defer {
    Watchdog.end(wait)
    WaitLog.add(first, since: begin)
  }
  while try !condition() {
    usleep(pause)
    if Watchdog.isOld(wait) { Watchdog.replace(wait, by: "waits for \(event())", file, line) }
  }
}

/// Calls `body`, which blocks until `event`. ``Watchdog`` ends the process if it never comes.
package func waiting<T>(
  for event: @autoclosure () -> String, file: StaticString = #fileID, line: Int = #line,
  _ body: () throws -> T
) rethrows -> T {
  let (event, begin) = (event(), ContinuousClock.now)
  let wait = Watchdog.begin("waits for \(event)", file, line)
  defer {
    Watchdog.end(wait)
    WaitLog.add(event, since: begin)
  }
  return try body()
}

/// What a test does from the beginning to the end of this object. It may take long: ``Watchdog`` ends the process only if
/// meanwhile no other wait or work begins or ends.
package final class WatchedWork: Sendable {
  private let wait: Int

  package init(_ what: String, file: StaticString = #fileID, line: Int = #line) {
    wait = Watchdog.begin(what, file, line, isLimited: false)
  }

  deinit { Watchdog.end(wait) }
}

/// Records an issue of the running test, for what has no other way to fail.
package func recordIssue(
  _ what: String, fileID: String = #fileID, filePath: String = #filePath, line: Int = #line
) {
  #if canImport(Testing)
    Issue.record(
      "\(what)",
      sourceLocation: SourceLocation(
        fileID: fileID, filePath: filePath, line: line, column: 1))
  #else
    fatalError(what)
  #endif
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

/// The file that `SWITCHBOARD_WAITS` names, which tells Tests/runner.py what each test waited for: one JSON object a line.
private enum WaitLog {
  private struct Entry: Encodable {
    let test, event: String
    let seconds: Double
  }

  private static let file = ProcessInfo.processInfo.environment["SWITCHBOARD_WAITS"].map {
    open($0, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
  }

  static func add(_ event: String, since begin: ContinuousClock.Instant) {
    guard let file, let test = nameOfTest else { return }
    let seconds = (ContinuousClock.now - begin) / .seconds(1)
    guard let line = try? JSONEncoder().encode(Entry(test: test, event: event, seconds: seconds))
    else { return }
    (line + [UInt8(ascii: "\n")]).withUnsafeBytes { _ = write(file, $0.baseAddress, $0.count) }
  }
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
    let sentence = sentence(what, file, line)
    return state.withLock { state in
      if !state.isRunning {
        state.isRunning = true
        Thread.detachNewThread { watch() }
      }
      return state.clock.begin(sentence, isLimited: isLimited)
    }
  }

  static func end(_ wait: Int) { state.withLock { $0.clock.end(wait) } }

  /// Whether the words of the wait are a second old.
  static func isOld(_ wait: Int) -> Bool { state.withLock { $0.clock.isOld(wait, ticks: 100) } }

  /// Gives the wait new words.
  static func replace(_ wait: Int, by what: String, _ file: StaticString, _ line: Int) {
    let sentence = sentence(what, file, line)
    state.withLock { $0.clock.replace(wait, by: sentence) }
  }

  private static func sentence(_ what: String, _ file: StaticString, _ line: Int) -> String {
    (nameOfTest.map { "\($0) " } ?? "") + "(\(file):\(line)) \(what)"
  }

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
    var what: String
    let isLimited: Bool
    let since: Int
    var saidAt: Int
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
    waits[count] = Wait(what: what, isLimited: isLimited, since: now, saidAt: now)
    return count
  }

  package mutating func end(_ wait: Int) {
    changedAt = now
    waits[wait] = nil
  }

  func isOld(_ wait: Int, ticks: Int) -> Bool {
    waits[wait].map { now - $0.saidAt >= ticks } ?? false
  }

  mutating func replace(_ wait: Int, by what: String) {
    waits[wait]?.what = what
    waits[wait]?.saidAt = now
  }

  package mutating func tick() { now += 1 }

  /// What is waited for, in order, if a wait has lasted `limit` ticks or nothing has changed for so long; otherwise nothing.
  package func sentences(limit: Int) -> [String] {
    let isStuck =
      now - changedAt >= limit || waits.values.contains { $0.isLimited && now - $0.since >= limit }
    guard isStuck else { return [] }
    return waits.isEmpty
      ? ["a test that has not said what it waits for"] : waits.keys.sorted().map { waits[$0]!.what }
  }
}

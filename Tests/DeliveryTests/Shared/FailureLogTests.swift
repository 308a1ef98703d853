import Logging
import MariaDB
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// Log lines about parts that fail repeatedly.
@Suite struct FailureLogTests {
  private struct Broken: Error, CustomStringConvertible {
    let description: String
  }

  private func away() -> any Error {
    let nowhere = ConnectionSettings(socket: "/nonexistent", database: "x", user: "x")
    do {
      try Database(nowhere, beginWaiting: { false }).requireSchemaVersion()
      fatalError("there is no such database")
    } catch {
      return error
    }
  }

  @Test func aFailureIsToldOnceAndItsEndToo() {
    let lines = Lines()
    let failures = FailureLog(Logger(label: "test") { _ in lines })
    for reason in ["a", "a", "b"] { failures.note(Broken(description: reason), of: "The pass") }
    failures.noteSuccess(of: "The worker")
    for _ in 1...2 { failures.noteSuccess(of: "The pass") }
    failures.note(Broken(description: "a"), of: "The pass")
    #expect(
      lines.all == [
        "error The pass failed: a", "error The pass failed: b", "notice The pass works again",
        "error The pass failed: a",
      ])
  }

  @Test func thatTheDatabaseIsAwayIsToldOnceForAllParts() {
    let lines = Lines()
    let failures = FailureLog(Logger(label: "test") { _ in lines })
    let error = away()
    for part in ["One", "Two", "One"] { failures.note(error, of: part) }
    failures.noteSuccess(of: "One")
    failures.note(error, of: "One")
    for part in ["One", "Two"] { failures.noteSuccess(of: part) }
    #expect(lines.all == ["error One failed: \(error)", "notice The database answers again"])
  }
}

/// A log handler that keeps all lines above the debug level.
private struct Lines: LogHandler {
  private final class Store: Sendable { let lines = Mutex<[String]>([]) }

  var logLevel = Logger.Level.info
  var metadata: Logger.Metadata = [:]
  private let store = Store()

  var all: [String] { store.lines.withLock { $0 } }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    store.lines.withLock { $0.append("\(event.level) \(event.message)") }
  }
}

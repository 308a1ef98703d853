import Logging
import Synchronization

/// A log handler that keeps level, message and metadata.
struct LogLines: LogHandler {
  private final class Store: Sendable { let lines = Mutex<[String]>([]) }

  var logLevel = Logger.Level.trace
  var metadata: Logger.Metadata = [:]
  private let store = Store()

  var all: [String] { store.lines.withLock { $0 } }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let pairs = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0)=\($1)" }
    store.lines.withLock { $0.append("\(event.level) \(event.message)\(pairs.joined())") }
  }
}

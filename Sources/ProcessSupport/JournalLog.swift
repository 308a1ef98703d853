import Base
import Glibc
package import Logging

/// Writes each event to standard error as one line of fields after the journal's priority (sd-daemon(3)):
/// `<6>level=info msg="Mail sent" attempts=1 mail=…`. Outside the journal, which records the time itself, the first
/// field is the time: `<6>time=2026-11-23T06:25:40Z level=…`.
package struct JournalLog: LogHandler {
  package var logLevel: Logger.Level = .info
  package var metadata: Logger.Metadata = [:]

  /// A logger that writes events of `level` and above.
  package static func logger(from level: Logger.Level = .info) -> Logger {
    Logger(label: "switchboard") { _ in
      var log = JournalLog()
      log.logLevel = level
      return log
    }
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
    let time = Self.isJournal ? "" : "time=\(Timestamp.now().rfc3339) "
    let priority = priority(of: event.level)
    var line = "<\(priority)>\(time)level=\(event.level) msg=\(quoted("\(event.message)"))"
    for (key, value) in all.sorted(by: { $0.key < $1.key }) {
      line += " \(key)=\(quoted("\(value)"))"
    }
    var bytes = line.utf8.map { $0 < 0x20 || $0 == 0x7f ? UInt8(ascii: " ") : $0 }
    bytes.append(UInt8(ascii: "\n"))
    _ = write(STDERR_FILENO, bytes, bytes.count)  // one call: lines of several threads do not mix
  }

  /// Whether standard error goes to the journal: `JOURNAL_STREAM` of systemd.exec(5).
  private static let isJournal: Bool = {
    var file = stat()
    guard let stream = getenv("JOURNAL_STREAM"), fstat(STDERR_FILENO, &file) == 0 else {
      return false
    }
    return String(cString: stream) == "\(file.st_dev):\(file.st_ino)"
  }()

  /// Puts `text` in quotation marks if it is empty or has spaces, control characters or quotation marks.
  private func quoted(_ text: String) -> String {
    let isPlain = !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") }
    guard !isPlain else { return text }
    return "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
  }

  private func priority(of level: Logger.Level) -> Int {
    switch level {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }
}

extension Environment {
  /// The value of `SWITCHBOARD_LOG_LEVEL`; `info` if it is missing or malformed.
  package mutating func logLevel() -> Logger.Level {
    choice("SWITCHBOARD_LOG_LEVEL", default: LogLevel.info).level
  }
}

/// The levels that an administrator may choose.
private enum LogLevel: String, CaseIterable {
  case debug, info, notice, warning, error

  var level: Logger.Level {
    switch self {
    case .debug: .debug
    case .info: .info
    case .notice: .notice
    case .warning: .warning
    case .error: .error
    }
  }
}

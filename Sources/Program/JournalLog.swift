import Glibc
package import Logging

/// Writes each event as one line on standard error, with the journal's priority in front: `<6>mail
/// sent mail=…` (sd-daemon(3)).
package struct JournalLog: LogHandler {
  package var logLevel: Logger.Level = .info
  package var metadata: Logger.Metadata = [:]

  /// A logger of this kind.
  package static func logger() -> Logger {
    Logger(label: "switchboard") { _ in JournalLog() }
  }

  package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  package func log(event: LogEvent) {
    let own = event.metadata ?? [:]
    let all = metadata.merging(own) { _, new in new }
    var line = "<\(priority(of: event.level))>\(event.message)"
    for (key, value) in all.sorted(by: { $0.key < $1.key }) {
      line += " \(key)=\(quoted("\(value)"))"
    }
    var bytes = line.utf8.map { $0 < 0x20 || $0 == 0x7f ? UInt8(ascii: " ") : $0 }
    bytes.append(UInt8(ascii: "\n"))
    _ = write(STDERR_FILENO, bytes, bytes.count)  // one call: lines of several threads do not mix
  }

  /// In quotation marks where `text` could look like another member of the line.
  private func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") }
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

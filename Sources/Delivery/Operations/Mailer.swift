package import Base
import Glibc
package import Store

/// Way to send mail.
package enum Mailer: Sendable, Equatable {
  /// A command that reads a message from standard input, like sendmail: words separated by spaces,
  /// without a shell. The command takes the recipient from the message (`sendmail -t`).
  case command(String)
  /// A directory in which each mail becomes a file `<id>.eml`.
  case directory(String)

  /// Sends a message. Exit status 0 means success. EX_USAGE, EX_DATAERR, EX_NOUSER and EX_NOHOST
  /// (sysexits.h) are final; any other status is retried. A command that runs longer than `limit`
  /// is killed.
  ///
  /// - Parameter stopping: when it is set, the command has five seconds left.
  package func send(
    _ message: [UInt8], named id: String, within limit: Duration = .seconds(30),
    stopping: Flag? = nil, clock: LimitClock = .system
  ) -> MailOutcome {
    switch self {
    case .command(let line):
      Self.run(
        line.split(separator: " ").map(String.init), message, within: limit, stopping, clock)
    case .directory(let path): Self.write(message, to: path, id: id)
    }
  }

  /// Tests the way without a mail: writes and removes a file, or starts the command with empty
  /// input.
  ///
  /// - Returns: the problem; nil if there is none.
  func problem(_ clock: LimitClock) -> String? {
    switch self {
    case .directory(let path):
      guard case .delivered = Self.write([], to: path, id: "check"),
        unlink("\(path)/check.eml") == 0
      else { return "no file can be written in the mail directory: \(path)" }
      return nil
    case .command(let line):
      let words = line.split(separator: " ").map(String.init)
      // Silent, because its error about an empty mail would look like a problem.
      guard isExecutable(words.first ?? ""),
        let process = ChildProcess(words, input: [], isSilent: true)
      else {
        return "the mail command cannot be executed: \(line)"
      }
      // Commands refuse an empty mail with different statuses; only 126 and 127 come from a shell.
      switch process.wait(atMost: .seconds(5), clock: clock) {
      case .exited(126), .exited(127): return "the mail command cannot be executed: \(line)"
      case .exited: return nil
      case .signalled(let signal): return "the mail command was ended by signal \(signal): \(line)"
      case .overdue: return "the mail command does not end: \(line)"
      }
    }
  }

  private static func run(
    _ words: [String], _ message: [UInt8], within limit: Duration, _ stopping: Flag?,
    _ clock: LimitClock
  ) -> MailOutcome {
    guard let process = ChildProcess(words, input: message) else {
      return .failed(reason: "the mail command cannot be started")
    }
    switch process.wait(atMost: limit, stopping: stopping, clock: clock) {
    case .exited(0):
      return process.readCount == message.count
        ? .delivered : .failed(reason: "the mail command read no message")
    case .exited(let status) where [EX_USAGE, EX_DATAERR, EX_NOUSER, EX_NOHOST].contains(status):
      return .dead(reason: "the mail command ended with status \(status)")
    case .exited(let status):
      return .failed(reason: "the mail command ended with status \(status)")
    case .signalled(let signal):
      return .failed(reason: "the mail command was ended by signal \(signal)")
    case .overdue where stopping?.isSet == true:
      return .failed(reason: "the companion was stopped before the mail command ended")
    case .overdue: return .failed(reason: "the mail command took more than \(limit)")
    }
  }

  /// Writes a temporary file and renames it, so that readers see only complete mails. A mail that
  /// is sent again gets the same file.
  private static func write(_ message: [UInt8], to directory: String, id: String) -> MailOutcome {
    mkdir(directory, 0o700)
    let path = "\(directory)/\(id).eml"
    let descriptor = open(path + ".part", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return .failed(reason: "the mail directory cannot be written") }
    let isWritten = Glibc.write(descriptor, message, message.count) == message.count
    guard close(descriptor) == 0, isWritten, rename(path + ".part", path) == 0 else {
      return .failed(reason: "the mail directory cannot be written")
    }
    return .delivered
  }
}

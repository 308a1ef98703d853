package import Base
import Glibc
package import Store

/// A way to send mail.
package enum Mailer: Sendable, Equatable {
  /// A command that takes a message on its standard input, as sendmail does: words separated by
  /// spaces, no shell. The recipient is read from the message (`sendmail -t`).
  case command(String)
  /// A directory in which each mail becomes a file `<id>.eml`.
  case directory(String)

  /// Exit status 0 is success; EX_USAGE, EX_DATAERR, EX_NOUSER and EX_NOHOST (sysexits.h) are
  /// final; any other is tried again. A command that runs longer than `limit` is killed.
  ///
  /// - Parameter stopping: when it is set, the command has five seconds left.
  package func send(
    _ message: [UInt8], named id: String, within limit: Duration = .seconds(30),
    stopping: Flag? = nil
  ) -> MailOutcome {
    switch self {
    case .command(let line):
      Self.run(line.split(separator: " ").map(String.init), message, within: limit, stopping)
    case .directory(let path): Self.write(message, to: path, id: id)
    }
  }

  /// Tries the way without a mail: writes a file and removes it, or starts the command with nothing to read.
  ///
  /// - Returns: what is wrong; nil where nothing is.
  func problem() -> String? {
    switch self {
    case .directory(let path):
      guard case .delivered = Self.write([], to: path, id: "check"),
        unlink("\(path)/check.eml") == 0
      else { return "no file can be written in the mail directory: \(path)" }
      return nil
    case .command(let line):
      let words = line.split(separator: " ").map(String.init)
      // What it says of an empty mail would look like a fault.
      guard isExecutable(words.first ?? ""),
        let process = ChildProcess(words, input: [], isSilent: true)
      else {
        return "the mail command cannot be executed: \(line)"
      }
      // With which status it refuses an empty mail is its own affair; 126 and 127 are the shell's.
      switch process.wait(atMost: .seconds(5)) {
      case .exited(126), .exited(127): return "the mail command cannot be executed: \(line)"
      case .exited: return nil
      case .signalled(let signal): return "the mail command was ended by signal \(signal): \(line)"
      case .overdue: return "the mail command does not end: \(line)"
      }
    }
  }

  private static func run(
    _ words: [String], _ message: [UInt8], within limit: Duration, _ stopping: Flag?
  ) -> MailOutcome {
    guard let process = ChildProcess(words, input: message) else {
      return .failed(reason: "the mail command cannot be started")
    }
    switch process.wait(atMost: limit, stopping: stopping) {
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

  /// Written beside its place and moved there, so that whoever looks sees whole mails only; the
  /// same mail again is the same file.
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

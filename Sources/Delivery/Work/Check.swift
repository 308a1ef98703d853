import Glibc
import Store

/// One thing that ``Companion/check()`` looked at.
package struct Finding: CustomStringConvertible {
  package let isFault: Bool
  private let text: String

  static func ok(_ text: String) -> Finding { Finding(isFault: false, text: text) }
  static func fault(_ text: String) -> Finding { Finding(isFault: true, text: text) }

  package var description: String { (isFault ? "FAULT  " : "ok     ") + text }
}

extension Companion {
  /// Looks at everything that can be wrong before it goes wrong: to a site what `nginx -t` is to
  /// nginx.
  package func check() -> [Finding] {
    [.ok("configuration is complete"), mailFinding(), pollFinding()] + databaseFindings()
  }

  private func pollFinding() -> Finding {
    guard let polling = settings.polling else {
      return .fault("online-go.com is not polled: SWITCHBOARD_CONTACT is missing")
    }
    let users = Int64(polling.requestsPerSecond) * settings.interval.components.seconds
    return .ok(
      "online-go.com is polled as \(polling.userAgent), at most \(polling.requestsPerSecond) times a "
        + "second: with more than \(users) users whose games move, each is polled less often")
  }

  private func databaseFindings() -> [Finding] {
    do {
      return try database.inspect().map { inspection in
        inspection.isRight ? .ok(inspection.text) : .fault(inspection.text)
      }
    } catch {
      return [.fault("the database does not answer: \(error)")]
    }
  }

  private func mailFinding() -> Finding {
    switch settings.mailer {
    case nil: .fault("mails are not sent: SWITCHBOARD_MAIL_COMMAND is missing")
    case .directory(let path): .ok("mails become files in \(path)")
    case .command(let line):
      Self.isExecutable(String(line.split(separator: " ").first ?? ""))
        ? .ok("mails are sent by \(line)") : .fault("the mail command cannot be executed: \(line)")
    }
  }

  /// Whether `program` can be executed, looked up in PATH where it holds no slash (posix_spawnp).
  private static func isExecutable(_ program: String) -> Bool {
    if program.contains("/") { return access(program, X_OK) == 0 }
    let path = getenv("PATH").map { String(cString: $0) } ?? ""
    return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
  }
}

import Glibc

/// Reports the state of this process to systemd (sd_notify(3)). Does nothing if no service manager asks for it.
package struct ServiceNotifier: Sendable {
  /// A state that systemd understands.
  package enum State: String, Sendable {
    case ready = "READY=1"
    case stopping = "STOPPING=1"
    /// systemd expects this at least once in twice the ``interval``.
    case alive = "WATCHDOG=1"
  }

  /// The time between two ``State/alive``: half of systemd's limit. Nil without a watchdog.
  package let interval: Duration?
  /// A path, or `@` and a name in the abstract namespace.
  private let address: String?

  /// The notifier that the environment describes: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
  ///
  /// Removes these variables from the environment: call this once, before any thread starts.
  package static func ofProcess() -> ServiceNotifier {
    var variables: [String: String] = [:]
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
      variables[name] = getenv(name).map { String(cString: $0) }
      unsetenv(name)
    }
    return ServiceNotifier(variables, process: getpid())
  }

  init(_ variables: [String: String], process: pid_t) {
    address = variables["NOTIFY_SOCKET"]
    let isForUs = variables["WATCHDOG_PID"].map { $0 == String(process) } ?? true
    let limit = isForUs ? variables["WATCHDOG_USEC"].flatMap { Int($0) } : nil
    interval = limit.flatMap { $0 > 1 ? .microseconds($0 / 2) : nil }
  }

  /// Sends `state` to systemd. Ignores errors: systemd itself is then missing, and nothing else needs to know.
  package func tell(_ state: State) {
    guard let address else { return }
    let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var target = sockaddr_un()
    target.sun_family = sa_family_t(AF_UNIX)
    var name = Array(address.utf8)
    guard name.count < MemoryLayout.size(ofValue: target.sun_path) else { return }
    if name.first == UInt8(ascii: "@") { name[0] = 0 }
    withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: name) }
    // The length marks the end of an abstract name. A path needs no zero byte at its end either.
    let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count
    let text = Array(state.rawValue.utf8)
    withUnsafePointer(to: &target) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = sendto(
          descriptor, text, text.count, CInt(MSG_NOSIGNAL), $0, socklen_t(length))
      }
    }
  }
}

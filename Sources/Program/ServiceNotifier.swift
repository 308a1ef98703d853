import Glibc

/// Tells systemd how this process is doing (sd_notify(3)). Does nothing where no service manager asked for it.
package struct ServiceNotifier: Sendable {
  /// What systemd can be told.
  package enum State: String, Sendable {
    case ready = "READY=1"
    case stopping = "STOPPING=1"
    /// Before twice the ``interval`` is over, systemd wants to hear this.
    case alive = "WATCHDOG=1"
  }

  /// How often to send ``State/alive``: half of systemd's limit. Nil where no watchdog waits for it.
  package let interval: Duration?
  /// A path, or `@` and a name in the abstract namespace.
  private let address: String?

  /// The notifier that the environment asks for: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
  ///
  /// Removes these variables from the environment: call it once, before any thread starts.
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

  /// Tells systemd `state`. Nobody can be told that this failed: systemd itself is not there then.
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
    // The length ends an abstract name; after a path there may be zeros, but systemd's has none.
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

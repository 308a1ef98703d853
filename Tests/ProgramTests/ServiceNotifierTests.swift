import Foundation
import Testing

@testable import ProcessSupport
@testable import SharedSettings

/// The messages to systemd, and their times.
@Suite struct ServiceNotifierTests {
  private func notifier(_ variables: [String: String]) -> ServiceNotifier {
    ServiceNotifier(variables, process: 7)
  }

  @Test(arguments: ["/tmp/\(UUID().uuidString)", "@\(UUID().uuidString)"])
  func systemdHearsEachState(address: String) throws {
    let socket = try NotificationSocket(at: address)
    let notifier = notifier(["NOTIFY_SOCKET": address])
    for state in [ServiceNotifier.State.ready, .alive, .stopping] {
      notifier.tell(state)
      #expect(socket.receive() == state.rawValue)
    }
  }

  @Test func withoutSystemdNothingHappens() {
    notifier([:]).tell(.ready)
    notifier(["NOTIFY_SOCKET": "/nonexistent/notify"]).tell(.ready)
    notifier(["NOTIFY_SOCKET": "/" + String(repeating: "a", count: 200)]).tell(.ready)
  }

  @Test(arguments: [
    (["WATCHDOG_USEC": "60000000"], Duration.seconds(30)),
    (["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "7"], .seconds(30)),
    (["WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "8"], nil),
    (["WATCHDOG_USEC": "soon"], nil), (["WATCHDOG_USEC": "0"], nil), ([:], nil),
  ])
  func theWatchdogIsFedTwiceInItsTime(variables: [String: String], interval: Duration?) {
    #expect(notifier(variables).interval == interval)
  }
}

/// A datagram socket like systemd's.
private final class NotificationSocket {
  private let descriptor: CInt
  private let path: String

  init(at address: String) throws {
    path = address
    descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
    var target = sockaddr_un()
    target.sun_family = sa_family_t(AF_UNIX)
    var name = Array(address.utf8)
    if name[0] == UInt8(ascii: "@") { name[0] = 0 }
    withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: name) }
    let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count)
    let code = withUnsafePointer(to: &target) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    try #require(code == 0)
  }

  deinit {
    close(descriptor)
    unlink(path)
  }

  /// The message that was sent last.
  func receive() -> String {
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
    return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
  }
}

import Foundation
import Support
import Synchronization

/// Clients of one address that open connections and send almost nothing until ``end()``. A client
/// reconnects when the web server closes its connection.
final class SlowClients: Sendable {
  private struct Client {
    var descriptor: CInt = -1
    var hasBegun = false
    /// The time of the next octet.
    var next = ContinuousClock.now
  }

  /// The time between two octets of a client.
  private static let interval = Duration.seconds(2)
  static let ofBody =
    "POST /api/v1/device-prefs HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n{"
  static let ofHead = "GET /health HTTP/1.1\r\nHost: a\r\nX-A: "

  private let port: UInt16
  private let address: String
  private let beginnings: [String]
  private let isOver = Atomic(false)
  /// The clients that have sent their beginning, and the connections that the server has closed.
  private let counts = Mutex((begun: 0, ended: 0))
  private let thread = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - beginnings: the first octets, in turns; more octets follow slowly, but not after an empty
  ///     beginning.
  ///   - address: the clients' address on this machine.
  init(
    _ count: Int, sending beginnings: [String] = [ofBody, ofHead, ""], from address: String,
    to port: UInt16
  ) {
    (self.beginnings, self.address, self.port) = (beginnings, address, port)
    Thread { [self] in
      run(count)
      thread.signal()
    }.start()
  }

  var begun: Int { counts.withLock { $0.begun } }
  var ended: Int { counts.withLock { $0.ended } }

  func end() {
    isOver.store(true, ordering: .releasing)
    waiting(for: "the end of the slow clients") { thread.wait() }
  }

  private func run(_ count: Int) {
    var clients = [Client](repeating: Client(), count: count)
    defer { for client in clients where client.descriptor >= 0 { close(client.descriptor) } }
    while !isOver.load(ordering: .acquiring) {
      for index in clients.indices where clients[index].descriptor < 0 {
        clients[index] = Client(descriptor: connection())
      }
      var polled = clients.map {
        pollfd(
          fd: $0.descriptor, events: Int16($0.hasBegun ? POLLIN : POLLIN | POLLOUT), revents: 0)
      }
      poll(&polled, nfds_t(polled.count), 100)
      let now = ContinuousClock.now
      for index in clients.indices {
        advance(
          &clients[index], polled[index].revents, beginnings[index % beginnings.count], at: now)
      }
    }
  }

  private func advance(
    _ client: inout Client, _ events: Int16, _ beginning: String, at now: ContinuousClock.Instant
  ) {
    if !client.hasBegun, events & Int16(POLLOUT) != 0 {
      client.hasBegun = true
      counts.withLock { $0.begun += 1 }
      send(client.descriptor, beginning, beginning.utf8.count, CInt(MSG_NOSIGNAL))
    } else if client.hasBegun, !beginning.isEmpty, now >= client.next {
      client.next = now + Self.interval
      send(client.descriptor, " ", 1, CInt(MSG_NOSIGNAL))
    }
    guard events & ~Int16(POLLOUT) != 0 else { return }
    var answer = [UInt8](repeating: 0, count: 4096)
    guard recv(client.descriptor, &answer, answer.count, CInt(MSG_DONTWAIT)) <= 0 else { return }
    close(client.descriptor)
    client = Client()
    counts.withLock { $0.ended += 1 }
  }

  private func connection() -> CInt {
    let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_INET, type, 0)
    var own = sockaddr_in()
    own.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, address, &own.sin_addr)
    let length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(descriptor, $0, length)
      }
    }
    _ = withLoopbackAddress(port: port) { _ = connect(descriptor, $0, length) }
    return descriptor
  }
}

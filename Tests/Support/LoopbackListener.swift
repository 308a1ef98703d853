package import Foundation

/// A listener on a port of 127.0.0.1 that serves each connection on its own thread.
package final class LoopbackListener: Sendable {
  private let acceptor: Acceptor
  package let port: UInt16

  /// - Parameter wanted: 0 takes a free port.
  /// - Returns: nil if the port cannot be used.
  package init?(port wanted: UInt16 = 0) {
    signal(SIGPIPE, SIG_IGN)
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    acceptor = Acceptor(descriptor)
    var isOn: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    var isListening = false
    port = withLoopbackAddress(port: wanted) { address in
      isListening =
        bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0
        && getsockname(descriptor, address, &length) == 0
    }
    guard isListening else {
      close(descriptor)
      return nil
    }
  }

  /// Calls `serve` with each connection; `serve` closes the connection. Call `begin` only once.
  package func begin(_ serve: @escaping @Sendable (Int32) -> Void) { acceptor.begin(serve) }

  /// Stops listening. A connection ends when the other side closes it.
  package func end() { acceptor.end() }
}

/// Calls `body` with an address of 127.0.0.1.
///
/// - Returns: the port in the address after `body` returns.
package func withLoopbackAddress(
  port: UInt16, _ body: (UnsafeMutablePointer<sockaddr>) -> Void
) -> UInt16 {
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
  address.sin_port = port.bigEndian
  withUnsafeMutablePointer(to: &address) { pointer in
    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
  }
  return UInt16(bigEndian: address.sin_port)
}

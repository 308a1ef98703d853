import Base
import Glibc

/// TCP address on which the agent listens.
package struct AgentAddress: Sendable {
  private let bytes: [UInt8]

  /// The addresses of `HOST:PORT`, with an IPv6 address in brackets; empty if the name has none.
  package static func addresses(of text: String) -> [AgentAddress] {
    guard let place = WebURL("tcp://\(text)"), place.rest.isEmpty, let port = place.port else {
      return []
    }
    let host = place.address ?? place.host
    var hints = addrinfo()
    hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, "\(port)", &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    return sequence(first: list) { $0?.pointee.ai_next }.prefix { $0 != nil }.compactMap { entry in
      guard let entry = entry?.pointee, let address = entry.ai_addr else { return nil }
      return AgentAddress(
        bytes: Array(UnsafeRawBufferPointer(start: address, count: Int(entry.ai_addrlen))))
    }
  }

  /// A nonblocking socket that has begun to connect, for the caller to close; -1 on failure.
  func connectingSocket() -> CInt {
    bytes.withUnsafeBytes { raw in
      let address = raw.baseAddress!.assumingMemoryBound(to: sockaddr.self)  // never empty
      let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let socket = Glibc.socket(CInt(address.pointee.sa_family), type, 0)
      guard socket >= 0 else { return -1 }
      var yes: CInt = 1
      setsockopt(socket, CInt(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<CInt>.size))
      if connect(socket, address, socklen_t(raw.count)) == 0 || errno == EINPROGRESS {
        return socket
      }
      close(socket)
      return -1
    }
  }
}

import Base
import CCurl
import Glibc

/// Checks the address of each connection of a request after the name is resolved, and refuses
/// addresses that the rule does not admit. Checks once before a socket is made, and again before
/// the request is sent, because the connection may be an earlier one.
///
/// If a proxy is used, the address is the proxy's.
final class ConnectionGuard {
  private let rule: OutboundRule
  /// Last refused address.
  private(set) var refused: String?

  init(_ rule: OutboundRule) { self.rule = rule }

  /// Guards `curl` until `curl_easy_reset`; the guard must live as long.
  func watch(_ curl: UnsafeMutableRawPointer) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    switchboard_set_pointer(curl, CURLOPT_OPENSOCKETDATA, context)
    switchboard_set_socket_opener(curl) { context, _, address in
      guard let context, let address else { return curl_socket_t(CURL_SOCKET_BAD) }
      return ConnectionGuard.of(context).open(address)
    }
    switchboard_set_pointer(curl, CURLOPT_PREREQDATA, context)
    switchboard_set_request_check(curl) { context, address, _, _, _ in
      guard let context, let address,
        ConnectionGuard.of(context).admits(String(cString: address))
      else { return CURL_PREREQFUNC_ABORT }
      return CURL_PREREQFUNC_OK
    }
  }

  private static func of(_ context: UnsafeMutableRawPointer) -> ConnectionGuard {
    Unmanaged<ConnectionGuard>.fromOpaque(context).takeUnretainedValue()
  }

  private func open(_ address: UnsafePointer<curl_sockaddr>) -> curl_socket_t {
    let wanted = address.pointee
    guard let text = Self.text(of: address), admits(text) else {
      return curl_socket_t(CURL_SOCKET_BAD)
    }
    return socket(wanted.family, wanted.socktype | CInt(SOCK_CLOEXEC.rawValue), wanted.protocol)
  }

  private func admits(_ address: String) -> Bool {
    let isAdmitted = rule.admits(address)
    if !isAdmitted { refused = address }
    return isAdmitted
  }

  /// Address as text (`inet_ntop`); nil if it is neither IPv4 nor IPv6.
  private static func text(of address: UnsafePointer<curl_sockaddr>) -> String? {
    // An IPv6 address is longer than the member in which it begins.
    let begin = UnsafeRawPointer(address) + MemoryLayout<curl_sockaddr>.offset(of: \.addr)!
    let place: Int
    switch address.pointee.family {
    case AF_INET: place = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)!
    case AF_INET6: place = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!
    default: return nil
    }
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    return inet_ntop(address.pointee.family, begin + place, &text, socklen_t(text.count)).map {
      String(cString: $0)
    }
  }
}

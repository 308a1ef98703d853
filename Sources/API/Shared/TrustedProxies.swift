import Base
import HTTP

/// Proxies in front of the web server, which write the client's address into `X-Forwarded-For`.
struct TrustedProxies: Sendable {
  let networks: [IPNetwork]

  /// Whether a trusted proxy has sent the request to the web server.
  func include(senderOf request: Request) -> Bool { include(request.remoteAddress) }

  /// The last address in `X-Forwarded-For` that is not a trusted proxy. A client may forge the addresses before it.
  ///
  /// - Returns: nil if there is no such entry, or the entry is not an address.
  func namedClient(of request: Request) -> String? {
    // As octets: the comma after some characters of Unicode is not a character by itself.
    let hops = request.fieldValues("X-Forwarded-For")
      .flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }.map { String(Substring($0)).trimmed }
    return hops.last { !include($0) }.flatMap { IPNetwork.isAddress($0) ? $0 : nil }
  }

  /// The client's address for limits and the audit log: the address from a trusted proxy, or else the address that the web
  /// server sees.
  func clientAddress(of request: Request) -> String {
    let sender = request.remoteAddress
    return include(sender) ? namedClient(of: request) ?? sender : sender
  }

  private func include(_ address: String) -> Bool { networks.contains { $0.contains(address) } }
}

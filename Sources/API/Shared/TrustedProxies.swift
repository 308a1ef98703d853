import Base
import HTTP

/// Proxies in front of the web server, which write the client's address into `X-Forwarded-For`.
///
/// A range counts only for the sender of a request. As a further hop it could hold a stranger's server, such as another
/// customer's of a CDN, and its text would then give rights.
struct TrustedProxies: Sendable {
  private let networks: [IPNetwork]
  /// The proxies that may also be a further hop.
  private let single: [IPNetwork]

  init(networks: [IPNetwork]) {
    self.networks = networks
    single = networks.filter(\.isSingleAddress)
  }

  var isEmpty: Bool { networks.isEmpty }

  /// Whether a trusted proxy has sent the request to the web server.
  func include(senderOf request: Request) -> Bool { include(request.remoteAddress) }

  /// The last address in `X-Forwarded-For` that is not a trusted proxy, without its port. A client may forge the addresses
  /// before it.
  ///
  /// - Returns: nil if there is no such entry, or the entry is not an address, or it is an address of this machine or link:
  ///   nobody reaches the proxy from there.
  func namedClient(of request: Request) -> String? {
    // As octets: the comma after some characters of Unicode is not a character by itself.
    let hops = request.fieldValues("X-Forwarded-For")
      .flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }.map { String(Substring($0)).trimmed }
    for hop in hops.reversed() {
      guard let address = IPNetwork.address(inHop: hop) else { return nil }
      if single.contains(where: { $0.contains(address) }) { continue }
      return IPNetwork.isLocal(address) ? nil : address
    }
    return nil
  }

  /// The client's address for limits and the audit log: the address from a trusted proxy, or else the address that the web
  /// server sees.
  func clientAddress(of request: Request) -> String {
    let sender = request.remoteAddress
    return include(sender) ? namedClient(of: request) ?? sender : sender
  }

  private func include(_ address: String) -> Bool { networks.contains { $0.contains(address) } }
}

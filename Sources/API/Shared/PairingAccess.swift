package import Base
import HTTP

/// The addresses that may pair phones: `/pair` and `/api/pair/` give tokens to every client that reaches them.
/// The same addresses may use an agent that requires no token.
package struct PairingAccess: Sendable {
  /// The allowed networks, including this machine.
  private let allowed: [IPNetwork]
  let proxies: TrustedProxies

  package init(allowed: [IPNetwork] = [], proxies: [IPNetwork] = []) {
    self.allowed = IPNetwork.loopback + allowed
    self.proxies = TrustedProxies(networks: proxies)
  }

  /// Whether the request comes from an allowed address. For a request through a proxy, the proxy must be
  /// trusted and must name the client.
  func admits(_ request: Request) -> Bool {
    guard let address = clientAddress(of: request) else { return false }
    return allowed.contains { $0.contains(address) }
  }

  /// Whether the request may be a stranger's that a proxy on this machine has passed on without naming the client: it comes
  /// from this machine, and no proxy is known.
  func mayBeOfStranger(_ request: Request) -> Bool {
    proxies.isEmpty && IPNetwork.loopback.contains { $0.contains(request.remoteAddress) }
      && clientAddress(of: request) != nil
  }

  private func clientAddress(of request: Request) -> String? {
    if proxies.include(senderOf: request) { return proxies.namedClient(of: request) }
    let isForwarded = Self.forwardingFields.contains { request.field($0) != nil }
    return isForwarded ? nil : request.remoteAddress
  }

  /// Fields that proxies add to a request.
  static let forwardingFields = [
    "X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded-Proto",
    "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded", "Forwarded-For", "X-Client-IP",
    "X-Cluster-Client-IP", "X-Original-Forwarded-For", "X-ProxyUser-IP", "Client-IP",
    "True-Client-IP", "CF-Connecting-IP", "Fastly-Client-IP",
  ]
}

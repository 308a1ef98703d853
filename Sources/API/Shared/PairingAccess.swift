package import Base
import HTTP

/// From where phones may be paired: `/pair` and `/api/pair/` hand out tokens to whoever reaches them. The
/// same holds for the agent where it asks for no token.
package struct PairingAccess: Sendable {
  /// Beside this machine.
  private let allowed: [IPNetwork]
  let proxies: TrustedProxies

  package init(allowed: [IPNetwork] = [], proxies: [IPNetwork] = []) {
    self.allowed = IPNetwork.loopback + allowed
    self.proxies = TrustedProxies(networks: proxies)
  }

  /// Whether the request comes from one of the addresses. One that a proxy has passed on does so only
  /// where the proxy is trusted, and names its sender.
  func admits(_ request: Request) -> Bool {
    guard let address = clientAddress(of: request) else { return false }
    return allowed.contains { $0.contains(address) }
  }

  private func clientAddress(of request: Request) -> String? {
    if proxies.include(senderOf: request) { return proxies.namedClient(of: request) }
    let isForwarded = Self.forwardingFields.contains { request.field($0) != nil }
    return isForwarded ? nil : request.remoteAddress
  }

  /// Fields by which proxies say that they have passed a request on.
  static let forwardingFields = [
    "X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded-Proto",
    "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded", "Forwarded-For", "X-Client-IP",
    "X-Cluster-Client-IP", "X-Original-Forwarded-For", "X-ProxyUser-IP", "Client-IP",
    "True-Client-IP", "CF-Connecting-IP", "Fastly-Client-IP",
  ]
}

import Base

/// Where APNs is: a host and a port, spoken to over TLS.
package struct APNsEndpoint: Sendable, Equatable, CustomStringConvertible {
  package static let production = APNsEndpoint(host: "api.push.apple.com")
  package static let sandbox = APNsEndpoint(host: "api.sandbox.push.apple.com")

  /// A name or an address; IPv6 without brackets.
  package let host: String
  package let port: UInt16

  package init(host: String, port: UInt16 = 443) {
    self.host = host
    self.port = port
  }

  /// The origin of an `https` URL (RFC 6454 §4); what follows it is ignored. Nil if `url` is not one.
  package init?(url: String) {
    guard let url = WebURL(url), url.isHTTPS, let port = url.effectivePort else { return nil }
    self.init(host: url.address ?? url.host, port: port)
  }

  /// As in `:authority` (RFC 9113 §8.3.1).
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == 443 ? name : "\(name):\(port)"
  }

  package var description: String { "https://\(authority)" }
}

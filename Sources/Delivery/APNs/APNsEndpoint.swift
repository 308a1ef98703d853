import Base

/// Host and port of APNs, used over TLS.
package struct APNsEndpoint: Sendable, Equatable, CustomStringConvertible {
  package static let production = APNsEndpoint(host: "api.push.apple.com")
  package static let sandbox = APNsEndpoint(host: "api.sandbox.push.apple.com")

  /// Name or address; IPv6 without brackets.
  package let host: String
  package let port: UInt16

  package init(host: String, port: UInt16 = 443) {
    self.host = host
    self.port = port
  }

  /// Takes the origin of an `https` URL (RFC 6454 §4) and ignores the rest. Nil for any other text.
  package init?(url: String) {
    guard let url = WebURL(url), url.isHTTPS, let port = url.effectivePort else { return nil }
    self.init(host: url.address ?? url.host, port: port)
  }

  /// Value for `:authority` (RFC 9113 §8.3.1).
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == 443 ? name : "\(name):\(port)"
  }

  package var description: String { "https://\(authority)" }
}

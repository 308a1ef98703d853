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
    let scheme = "https://"
    guard url.prefix(scheme.utf8.count).lowercased() == scheme else { return nil }
    let authority = url.dropFirst(scheme.utf8.count).prefix { !"/?#".contains($0) }
    guard !authority.contains("@") else { return nil }
    var host = authority
    var port: Substring = "443"
    if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
      host = authority[..<colon]
      port = authority[authority.index(after: colon)...]
    }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    guard let port = UInt16(port), port > 0, !host.isEmpty,
      host.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    self.init(host: String(host), port: port)
  }

  /// As in `:authority` (RFC 9113 §8.3.1).
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == 443 ? name : "\(name):\(port)"
  }

  package var description: String { "https://\(authority)" }
}

import Base
import HTTP

/// Proxies in front of the web server, which name in `X-Forwarded-For` whose requests they pass on.
struct TrustedProxies: Sendable {
  let networks: [IPNetwork]

  /// Whether one of them has sent the request to the web server.
  func include(senderOf request: Request) -> Bool { include(request.remoteAddress) }

  /// The last address in `X-Forwarded-For` that is none of theirs: what stands before it may be made up.
  ///
  /// - Returns: nil where there is none, or something that is no address.
  func namedClient(of request: Request) -> String? {
    let hops = request.fieldValues("X-Forwarded-For").flatMap { $0.split(separator: ",") }
      .map { String($0).trimmed }
    return hops.last { !include($0) }.flatMap { IPNetwork.isAddress($0) ? $0 : nil }
  }

  /// The address of whoever sent the request, as limits and the audit log count it: what a proxy names, or else what the
  /// web server sees.
  func clientAddress(of request: Request) -> String {
    guard include(senderOf: request) else { return request.remoteAddress }
    return namedClient(of: request) ?? request.remoteAddress
  }

  private func include(_ address: String) -> Bool { networks.contains { $0.contains(address) } }
}

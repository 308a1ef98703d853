package import Base
import HTTP

/// From where phones may be paired: `/pair` and `/api/pair/` hand out tokens to whoever reaches them. The
/// same holds for the agent where it asks for no token.
package struct PairingAccess: Sendable {
  /// Beside this machine.
  private let allowed: [IPNetwork]
  /// Whose `X-Forwarded-For` counts.
  private let proxies: [IPNetwork]

  package init(allowed: [IPNetwork] = [], proxies: [IPNetwork] = []) {
    self.allowed = IPNetwork.loopback + allowed
    self.proxies = proxies
  }

  /// Whether the request comes from one of the addresses. One that a proxy has passed on does so only
  /// where the proxy is trusted, and says of whom it is.
  func admits(_ request: Request) -> Bool {
    guard let address = clientAddress(of: request) else { return false }
    return allowed.contains { $0.contains(address) }
  }

  private func clientAddress(of request: Request) -> String? {
    let isProxy = proxies.contains { $0.contains(request.remoteAddress) }
    guard isProxy else {
      return Self.forwardingFields.contains { request.field($0) != nil }
        ? nil : request.remoteAddress
    }
    let hops = request.fieldValues("X-Forwarded-For").flatMap { $0.split(separator: ",") }
      .map { String($0).trimmed }
    return hops.last { hop in !proxies.contains { $0.contains(hop) } }
  }

  /// Fields by which proxies say that they have passed a request on.
  static let forwardingFields = [
    "X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded-Proto",
    "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded", "Forwarded-For", "X-Client-IP",
    "X-Cluster-Client-IP", "X-Original-Forwarded-For", "X-ProxyUser-IP", "Client-IP",
    "True-Client-IP", "CF-Connecting-IP", "Fastly-Client-IP",
  ]
}

extension Context {
  /// Refuses whoever may not pair phones from here, and what a stranger's page sends through a browser on
  /// this machine.
  ///
  /// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``.
  func requirePairingAccess(_ request: Request) throws {
    guard settings.pairingAccess.admits(request) else { throw Failure.foreignAddress }
    guard isOwnHost(of: request), isOwnOrigin(of: request), !isSubresourceOfStranger(request) else {
      throw Failure.foreignPage
    }
  }

  /// Whether the request names the site in a way that no stranger's page can (against DNS rebinding).
  private func isOwnHost(of request: Request) -> Bool {
    // A server that the request line names counts over Host (RFC 9112 §3.2.2).
    guard request.requestURI.isEmpty || request.requestURI.hasPrefix("/") else { return false }
    guard let authority = request.field("Host"), !authority.isEmpty else { return true }
    guard let url = WebURL("http://\(authority)"), url.rest.isEmpty else { return false }
    return url.host == "localhost" || url.hasAddress
      || (settings.publicURLs + [settings.agent.publicURL]).contains {
        WebURL($0)?.host == url.host
      }
  }

  /// Whether a page of the site sends the request, if a page sends it at all (against CSRF).
  func isOwnOrigin(of request: Request) -> Bool {
    let origins = request.fieldValues("Origin")
    guard let origin = origins.first?.lowercased() else { return true }
    guard origins.count == 1 else { return false }
    if settings.origins.contains(origin) { return true }
    guard isOwnHost(of: request), let authority = request.field("Host")?.lowercased() else {
      return false
    }
    return origin == "http://\(authority)" || origin == "https://\(authority)"
  }

  /// Whether a page of another origin shows the answer as a part of itself. Browsers say so in these
  /// fields; a person may follow a link.
  private func isSubresourceOfStranger(_ request: Request) -> Bool {
    guard let site = request.field("Sec-Fetch-Site"), site != "same-origin", site != "none" else {
      return false
    }
    return request.field("Sec-Fetch-Mode") != "navigate"
      || request.field("Sec-Fetch-Dest") != "document" || request.method != "GET"
  }
}

extension WebURL {
  /// Whether the host is an IP address.
  fileprivate var hasAddress: Bool {
    host.hasPrefix("[") || host.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
  }
}

// nginx, which writes the answer where it asks about a request to the agent, learns the reason by X-Refusal.
extension Failure {
  static let foreignPage = Failure(
    status: 403,
    message: "Open this under the site's own name or address, from one of the site's own pages",
    fields: [("X-Refusal", "origin")])

  static let foreignAddress = Failure(
    status: 403,
    message: """
      Phones are paired from this machine and from the addresses in SWITCHBOARD_PAIRING_ALLOW, and through no \
      proxy but those in SWITCHBOARD_TRUSTED_PROXIES
      """, fields: [("X-Refusal", "address")])
}

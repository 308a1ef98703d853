import Base
import HTTP

extension Context {
  /// Rejects clients that may not pair phones, and requests that an attacker's page sends through a browser on
  /// this machine.
  ///
  /// - Throws: ``Failure/foreignAddress``; ``Failure/foreignPage``.
  func requirePairingAccess(_ request: Request) throws {
    guard settings.pairingAccess.admits(request) else { throw Failure.foreignAddress }
    guard isOwnHost(of: request), isOwnOrigin(of: request), !isSubresourceOfStranger(request) else {
      throw Failure.foreignPage
    }
  }

  /// Whether the request names the site with a host name that an attacker's page cannot use (against DNS rebinding).
  private func isOwnHost(of request: Request) -> Bool {
    // A host name in the request line overrides Host (RFC 9112 §3.2.2).
    guard request.requestURI.isEmpty || request.requestURI.hasPrefix("/") else { return false }
    guard let authority = request.field("Host"), !authority.isEmpty else { return true }
    guard let url = WebURL("http://\(authority)"), url.rest.isEmpty else { return false }
    return url.host == "localhost" || url.address != nil
      || (settings.publicURLs + [settings.agent.publicURL]).contains {
        WebURL($0)?.host == url.host
      }
  }

  /// Whether the request names the site as strangers do, and yet seems to come from this machine. A proxy on this machine
  /// that sends no `X-Forwarded-For` makes each stranger look so.
  func isPublicNameFromThisMachine(_ request: Request) -> Bool {
    guard settings.pairingAccess.mayBeOfStranger(request), let authority = request.field("Host"),
      let url = WebURL("http://\(authority)"), url.host != "localhost", url.address == nil
    else { return false }
    return settings.publicURLs.contains { WebURL($0)?.host == url.host }
  }

  /// Whether the request comes from a page of the site or from no page (against CSRF).
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

  /// Whether a page of another origin embeds the answer. Browsers report this in these fields. Following a
  /// link is allowed.
  private func isSubresourceOfStranger(_ request: Request) -> Bool {
    guard let site = request.field("Sec-Fetch-Site"), site != "same-origin", site != "none" else {
      return false
    }
    return request.field("Sec-Fetch-Mode") != "navigate"
      || request.field("Sec-Fetch-Dest") != "document" || request.guardedMethod != "GET"
  }
}

// X-Refusal tells nginx the reason: nginx writes the answer itself if the responder rejects a request to the agent.
extension Failure {
  static let foreignPage = Failure(
    status: 403, sentence: \.foreignPage,
    message: "Open this under the site's own name or address, from one of the site's own pages",
    fields: [("X-Refusal", "origin")])

  static let foreignAddress = Failure(
    status: 403, sentence: \.foreignAddress,
    message: """
      Phones are paired from this machine and from the addresses in SWITCHBOARD_PAIRING_ALLOW, and through no \
      proxy but those in SWITCHBOARD_TRUSTED_PROXIES
      """, fields: [("X-Refusal", "address")])
}

/// A sentence about operations with ``Context/requirePairingAccess(_:)``.
let ownNetwork = "Only the site's own machine and networks may call it."

extension [Failure] {
  /// Errors of ``Context/requirePairingAccess(_:)``.
  static let ofPairing: [Failure] = [.foreignAddress, .foreignPage]
}

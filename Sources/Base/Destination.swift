/// A URL that a row of the database or a stranger named, as it was written.
///
/// Its text cannot be had: only a ``Destination`` can be made of it, which has the rule for its connections.
package struct ForeignURL: Sendable, Equatable {
  fileprivate let text: String

  package init(_ text: String) { self.text = text }
}

/// The addresses that a connection to a ``ForeignURL`` may have: those of the internet, and those that the
/// administrator allows besides.
package struct OutboundRule: Sendable, Equatable {
  private let allowed: [IPNetwork]

  package init(allowing allowed: [IPNetwork] = []) { self.allowed = allowed }

  /// - Parameter address: as `inet_ntop` writes it.
  package func admits(_ address: String) -> Bool {
    IPNetwork.isPublic(address) || allowed.contains { $0.contains(address) }
  }
}

/// Where a request of ours goes.
package struct Destination: Sendable {
  package let url: WebURL
  /// What the addresses of its connections must keep to; nil: the administrator has named the place in the
  /// configuration, wherever it is.
  package let rule: OutboundRule?

  /// - Parameter text: from the configuration, or made of what the configuration names.
  /// - Returns: nil unless it is an address of HTTP.
  package init?(configured text: String) {
    guard let url = WebURL(text), url.isHTTP else { return nil }
    self.url = url
    rule = nil
  }

  /// - Returns: nil unless `foreign` is an address of HTTP.
  package init?(_ foreign: ForeignURL, under rule: OutboundRule) {
    guard let url = WebURL(foreign.text), url.isHTTP else { return nil }
    self.url = url
    self.rule = rule
  }
}

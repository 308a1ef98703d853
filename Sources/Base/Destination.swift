/// A URL, as it was written, from a row of the database or from an untrusted client.
///
/// The text is private: it can only become a ``Destination``, which has the rule for its
/// connections.
package struct ForeignURL: Sendable, Equatable {
  fileprivate let text: String

  package init(_ text: String) { self.text = text }
}

/// Addresses that a connection to a ``ForeignURL`` may use: those of the internet, and those that
/// the administrator allows.
package struct OutboundRule: Sendable, Equatable {
  private let allowed: [IPNetwork]

  package init(allowing allowed: [IPNetwork] = []) { self.allowed = allowed }

  /// - Parameter address: as `inet_ntop` writes it.
  package func admits(_ address: String) -> Bool {
    IPNetwork.isPublic(address) || allowed.contains { $0.contains(address) }
  }
}

/// The target of an outgoing request.
package struct Destination: Sendable {
  package let url: WebURL
  /// The rule for the addresses of its connections; nil allows all addresses, because the
  /// administrator named the URL in the configuration.
  package let rule: OutboundRule?

  /// - Parameter text: from the configuration, or built from its values.
  /// - Returns: nil unless `text` is a URL of HTTP or HTTPS.
  package init?(configured text: String) {
    guard let url = WebURL(text), url.isHTTP else { return nil }
    self.url = url
    rule = nil
  }

  /// - Returns: nil unless `foreign` is a URL of HTTP or HTTPS.
  package init?(_ foreign: ForeignURL, under rule: OutboundRule) {
    guard let url = WebURL(foreign.text), url.isHTTP else { return nil }
    self.url = url
    self.rule = rule
  }
}

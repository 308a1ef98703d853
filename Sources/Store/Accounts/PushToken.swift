import Base

/// A push token that is well-formed: 20 to 512 letters, digits, and `: _ - .`
package struct PushToken: Sendable, Equatable {
  package static let lengths = 20...512

  package let text: String

  package init?(_ text: String) {
    guard Self.lengths.contains(text.utf8.count),
      text.utf8.allSatisfy({ $0.isAlphanumeric || ":_-.".utf8.contains($0) })
    else { return nil }
    self.text = text
  }

  /// Whether it names a subscription of a browser: `web:` and the id of its row. Only the endpoint
  /// for subscriptions makes such tokens.
  package var isOfBrowser: Bool { text.hasPrefix("web:") }
}

import Base

/// The `error` of an OAuth answer (RFC 6749 §4.1.2.1, §5.2): a word of 1 to 40 lower-case letters
/// and `_`.
package struct OAuthError: RawRepresentable, Hashable, Sendable {
  package static let accessDenied = OAuthError(known: "access_denied")
  package static let serverError = OAuthError(known: "server_error")
  package static let temporarilyUnavailable = OAuthError(known: "temporarily_unavailable")

  package let rawValue: String

  /// - Returns: nil unless `rawValue` is such a word.
  package init?(rawValue: String) {
    let isWord = rawValue.utf8.allSatisfy { $0.isLowercaseLetter || $0 == UInt8(ascii: "_") }
    guard (1...40).contains(rawValue.utf8.count), isWord else { return nil }
    self.rawValue = rawValue
  }

  private init(known word: String) {
    rawValue = word
  }
}

import Base

/// A mailbox (RFC 5322 §3.4): an e-mail address, alone or after a name, as in `Name <address>`.
struct Mailbox {
  /// nil if there is only the address.
  let name: String?
  let address: String

  /// - Returns: nil unless `text` is a mailbox with an address in ASCII and a name, if any, that fits into
  ///   a header: at most 60 characters, and no control character.
  init?(_ text: String) {
    if Self.isAddress(text) {
      (name, address) = (nil, text)
      return
    }
    let form = /\s*(?:"((?:[^"\\]|\\.)+)"|([^"<>]+?))\s*<([^<>]+)>/
    guard let match = text.wholeMatch(of: form), Self.isAddress(String(match.3)) else { return nil }
    let quoted = match.1.map { $0.replacing(/\\(.)/) { $0.1 } }
    let name = String(quoted ?? match.2 ?? "").trimmed
    guard !name.isEmpty, name.unicodeScalars.count <= 60, !name.hasControls else { return nil }
    (self.name, address) = (name, String(match.3))
  }

  /// Whether `text` is one e-mail address, without quotes and comments.
  static func isAddress(_ text: String) -> Bool {
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && !parts.contains("")
      && text.utf8.allSatisfy { $0.isVisible && !#"<>(),:;"\"#.utf8.contains($0) }
  }
}

import Base

/// The sender of a request to the agent: the responder tells the web server, which tells the relay,
/// in the field ``fieldName``.
package enum AgentClient: Hashable, Sendable {
  /// `name` is the name that people gave the phone, or else the app's description of itself. In it,
  /// `%XX` replaces each octet that is not printable ASCII, and `%`, `"` and `\`.
  case phone(id: String, name: String)
  /// A client that shows the pairing token with this nonce, without having paired.
  case pairingToken(nonce: String)
  /// No authentication is required.
  case anyone

  package static let fieldName = "X-Admitted-By"

  /// The value of the field.
  package var text: String {
    switch self {
    case .phone(let id, let name): "phone \(id) \(name)"
    case .pairingToken(let nonce): "token \(nonce)"
    case .anyone: "anyone"
    }
  }

  /// - Returns: nil unless `text` is such a value.
  package init?(_ text: String) {
    let words = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: 2)
      .map { String(Substring($0)) }
    guard words.dropFirst().first?.isVisibleASCII(atMost: 36) ?? true else { return nil }
    switch (words.first, words.count) {
    case ("phone", 2...3):
      let name = words.count == 3 ? words[2] : ""
      guard name.utf8.allSatisfy({ $0.isPlain || $0 == UInt8(ascii: "%") }) else { return nil }
      self = .phone(id: words[1], name: name)
    case ("token", 2): self = .pairingToken(nonce: words[1])
    case ("anyone", 1): self = .anyone
    default: return nil
    }
  }

  /// A phone with this name.
  package static func phone(id: String, called name: String) -> AgentClient {
    .phone(id: id, name: name.escaped)
  }

  /// The agent's `X-Paired-Device`, a dictionary (RFC 9651 §3.2); nil if no phone has paired.
  package var pairedDevice: String? {
    guard case .phone(let id, let name) = self else { return nil }
    return #"id="\#(id)", name="\#(name)""#
  }
}

extension UInt8 {
  /// Whether the octet stands for itself in a name.
  fileprivate var isPlain: Bool { isPrintable && !#"%"\"#.utf8.contains(self) }
}

extension String {
  fileprivate var escaped: String {
    unicodeScalars.map { scalar in
      let text = String(scalar)
      return text.utf8.allSatisfy(\.isPlain) ? text : text.percentEncoded
    }.joined()
  }
}

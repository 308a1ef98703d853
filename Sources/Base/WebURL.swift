/// The parts of an absolute URL with an authority (RFC 3986 §3): `scheme://host[:port]` and the rest.
package struct WebURL: Equatable, Sendable {
  /// In lower case.
  package let scheme: String
  /// In lower case; IPv6 in brackets.
  package let host: String
  /// nil where the URL names none.
  package let port: UInt16?
  /// Path, query and fragment as written.
  package let rest: String

  /// - Returns: nil unless `text` is such a URL. One with user information (`user@host`) is none.
  package init?(_ text: String) {
    guard let mark = text.firstRange(of: "://") else { return nil }
    let scheme = text[..<mark.lowerBound]
    let end = text[mark.upperBound...].firstIndex { "/?#\\".contains($0) } ?? text.endIndex
    var host = text[mark.upperBound..<end]
    var port: UInt16?
    if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
      let digits = host[host.index(after: colon)...]
      guard digits.utf8.allSatisfy(\.isDigit), let number = UInt16(digits) else { return nil }
      port = number
      host = host[..<colon]
    }
    guard Self.isScheme(scheme), Self.isHost(host) else { return nil }
    self.scheme = scheme.lowercased()
    self.host = host.lowercased()
    self.port = port
    rest = String(text[end...])
  }

  private static func isScheme(_ text: Substring) -> Bool {
    text.utf8.first?.isLetter == true
      && text.utf8.allSatisfy { $0.isAlphanumeric || "+-.".utf8.contains($0) }
  }

  private static func isHost(_ text: Substring) -> Bool {
    if text.hasPrefix("["), text.hasSuffix("]") {
      let address = text.dropFirst().dropLast()
      return !address.isEmpty
        && address.utf8.allSatisfy { $0.isAlphanumeric || ":.".utf8.contains($0) }
    }
    return !text.isEmpty && text.utf8.allSatisfy { $0.isAlphanumeric || "-._".utf8.contains($0) }
  }

  package var isHTTP: Bool { scheme == "http" || scheme == "https" }

  package var isHTTPS: Bool { scheme == "https" }

  /// The port named, or else that of the scheme; nil for schemes other than HTTP's.
  package var effectivePort: UInt16? {
    switch scheme {
    case "http": port ?? 80
    case "https": port ?? 443
    default: port
    }
  }

  /// The origin as browsers write it (RFC 6454 §6.2): without the scheme's own port.
  package var origin: String {
    let isDefault = port == nil || port == (isHTTPS ? 443 : 80) && isHTTP
    return isDefault ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port!)"
  }

  /// Whether the host is this machine by its name or address.
  package var isOfThisMachine: Bool {
    // A name may begin with 127 as well.
    let isLoopback =
      host.hasPrefix("127.") && host.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
    return host == "localhost" || host == "[::1]" || isLoopback
  }
}

/// The parts of an absolute URL with an authority (RFC 3986 §3): `scheme://host[:port]` and the rest.
///
/// The only parser of URLs. It accepts the generic syntax of RFC 3986, but only URLs that all
/// parsers split in the same way: curl, browsers and others disagree about `\`, user information,
/// control characters, and odd spellings of hosts, ports and paths. A URL that one parser has
/// checked must not lead another parser elsewhere.
package struct WebURL: Equatable, Sendable {
  /// In lower case.
  package let scheme: String
  /// A name or an IPv4 address in lower case, or an IPv6 address in brackets, as RFC 5952 spells it.
  package let host: String
  /// nil if the URL names none; never 0.
  package let port: UInt16?
  /// Path, query and fragment as written.
  package let rest: String

  /// - Returns: nil unless `text` is such a URL. User information (`user@host`) is rejected.
  package init?(_ text: String) {
    // ASCII first: then each character is one octet.
    guard text.utf8.allSatisfy(\.isVisible), let mark = text.firstRange(of: "://") else {
      return nil
    }
    let scheme = text[..<mark.lowerBound]
    let end = text[mark.upperBound...].firstIndex { "/?#".contains($0) } ?? text.endIndex
    let rest = text[end...]
    var host = text[mark.upperBound..<end]
    var port: UInt16?
    if let colon = host.lastIndex(of: ":"), !host.hasSuffix("]") {
      guard let number = Self.port(host[host.index(after: colon)...]) else { return nil }
      port = number
      host = host[..<colon]
    }
    guard Self.isScheme(scheme), let known = URLHost(host), Self.isRest(rest) else { return nil }
    self.scheme = scheme.lowercased()
    self.host = known.text
    self.port = port
    self.rest = String(rest)
  }

  /// Rejects `file`, whose host has another meaning, and long schemes, which some parsers cut.
  private static func isScheme(_ text: Substring) -> Bool {
    text.utf8.first?.isLetter == true && text.utf8.count <= 32 && text.lowercased() != "file"
      && text.utf8.allSatisfy { $0.isAlphanumeric || "+-.".utf8.contains($0) }
  }

  /// Reads a port without leading zeros.
  private static func port(_ digits: Substring) -> UInt16? {
    guard digits.utf8.allSatisfy(\.isDigit), digits.first != "0" else { return nil }
    return UInt16(digits)
  }

  /// Whether `text` is a path, query and fragment (RFC 3986 §3.3–3.5), without the segments `.` and
  /// `..`: some parsers remove them.
  private static func isRest(_ text: Substring) -> Bool {
    var octets = text.utf8[...]
    var fragments = 0
    while let octet = octets.popFirst() {
      switch octet {
      case UInt8(ascii: "%"):
        guard octets.popFirst()?.hexDigitValue != nil, octets.popFirst()?.hexDigitValue != nil
        else { return false }
      case UInt8(ascii: "#"): fragments += 1
      default:
        guard octet.isAlphanumeric || "-._~!$&'()*+,;=:@/?".utf8.contains(octet) else {
          return false
        }
      }
    }
    let segments = text.prefix { !"?#".contains($0) }.split(separator: "/")
    return fragments <= 1 && !segments.contains { isDots($0) }
  }

  private static func isDots(_ segment: Substring) -> Bool {
    [".", ".."].contains(segment.lowercased().replacing("%2e", with: "."))
  }

  /// The URL, built from its parts.
  package var text: String { "\(scheme)://\(authority)\(rest)" }

  private var authority: String { port.map { "\(host):\($0)" } ?? host }

  /// Never empty: `/` if the URL has none (RFC 3986 §6.2.3).
  package var path: String {
    let path = rest.prefix { !"?#".contains($0) }
    return path.isEmpty ? "/" : String(path)
  }

  /// The text after `?`; nil if there is no `?`.
  package var query: String? { part(after: "?", in: rest.prefix { $0 != "#" }) }

  /// The text after `#`; nil if there is no `#`.
  package var fragment: String? { part(after: "#", in: rest[...]) }

  private func part(after mark: Character, in text: Substring) -> String? {
    text.firstIndex(of: mark).map { String(text[text.index(after: $0)...]) }
  }

  package var isHTTP: Bool { scheme == "http" || scheme == "https" }

  package var isHTTPS: Bool { scheme == "https" }

  /// The port in the URL, or else the default port of `http` or `https`; nil if there is neither.
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
    return isDefault ? "\(scheme)://\(host)" : "\(scheme)://\(authority)"
  }

  /// The IP address of a host that is not a name, without brackets; nil if the host is a name.
  package var address: String? {
    if host.hasPrefix("[") { return String(host.dropFirst().dropLast()) }
    return IPNetwork.isAddress(host) ? host : nil
  }

  /// Whether the host is this machine by its name or address.
  package var isOfThisMachine: Bool {
    host == "localhost" || address.map { $0 == "::1" || $0.hasPrefix("127.") } ?? false
  }
}

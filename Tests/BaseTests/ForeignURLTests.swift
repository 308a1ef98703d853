import Base
import Foundation
import Support
import Testing

/// URLs of other people's tests: those of web-platform-tests, which browsers must pass, and those of
/// Swift's Foundation.
@Suite struct ForeignURLTests {
  /// Parsers disagree about these URLs, so our reader refuses them.
  private enum Policy: String {
    /// Relative URLs, and URLs without a host.
    case noAuthority
    case whitespaceOrControl, otherThanASCII, backslash, userInformation, fileScheme
    /// A percent sign, a symbol, a dot at the end, a number, or an IPv6 address in another spelling than that of
    /// RFC 5952, or of IPv4 inside IPv6.
    case hostInAnotherSpelling
    /// A port without digits, with zeros in front, or too large.
    case portInAnotherSpelling
    /// `.` or `..`, also percent-encoded.
    case dotSegment
    /// Characters that RFC 3986 has only percent-encoded, and percent signs before anything but two digits.
    case unencodedCharacter

    /// The first rule that `text` breaks.
    init?(_ text: String) {
      let scalars = text.unicodeScalars
      if scalars.contains(where: { $0.value <= 0x20 || $0.value == 0x7F }) {
        self = .whitespaceOrControl
      } else if !scalars.allSatisfy(\.isASCII) {
        self = .otherThanASCII
      } else if text.contains(#"\"#) {
        self = .backslash
      } else if let parts = try? Self.parts.wholeMatch(in: text) {
        guard let rule = Self.rule(parts.output) else { return nil }
        self = rule
      } else {
        self = .noAuthority
      }
    }

    nonisolated(unsafe) private static let parts =
      /([A-Za-z][A-Za-z0-9+.\-]*):\/\/([^\/?#]+)([^?#]*)((?:\?[^#]*)?)((?:#.*)?)/

    private static func rule(
      _ parts: (Substring, Substring, Substring, Substring, Substring, Substring)
    ) -> Policy? {
      let (_, scheme, authority, path, query, fragment) = parts
      if authority.contains("@") { return .userInformation }
      if scheme.lowercased() == "file" { return .fileScheme }
      let host = authority.replacing(/:[^:\]]*$/, with: "")
      let port = authority.dropFirst(host.count)
      if !isPlain(host) { return .hostInAnotherSpelling }
      if !port.isEmpty,
        port.wholeMatch(of: /:[1-9][0-9]*/) == nil || UInt16(port.dropFirst()) == nil
      {
        return .portInAnotherSpelling
      }
      let dots = path.split(separator: "/").contains {
        [".", ".."].contains($0.lowercased().replacing("%2e", with: "."))
      }
      if dots { return .dotSegment }
      let plain = /(?:[A-Za-z0-9\-._~!$&'()*+,;=:@\/?]|%[0-9A-Fa-f]{2})*/
      let areEncoded = [path, query, fragment.dropFirst()].allSatisfy {
        $0.wholeMatch(of: plain) != nil
      }
      return areEncoded ? nil : .unencodedCharacter
    }

    private static func isPlain(_ host: Substring) -> Bool {
      if host.hasPrefix("[") {
        let groups = host.dropFirst().dropLast().split(separator: ":")
        let isShort = host.contains("::")
        return host.wholeMatch(of: /\[[0-9A-Fa-f:]+\]/) != nil
          && !groups.contains { $0.count > 1 && $0.hasPrefix("0") }
          && (groups.count == 8 || isShort && groups.count < 7)
          && host.firstMatch(of: /::0[:\]]|[:\[]0::|[:\[]0:0[:\]]/) == nil
          && host.wholeMatch(of: /\[::(ffff:)?[0-9A-Fa-f]+:[0-9A-Fa-f]+\]/) == nil
      }
      let label = /[A-Za-z0-9_\-]{1,63}/
      let labels = host.split(separator: ".", omittingEmptySubsequences: false)
      guard labels.allSatisfy({ $0.wholeMatch(of: label) != nil }), let last = labels.last
      else { return false }
      let isNumber = last.wholeMatch(of: /[0-9]+|0[xX][0-9A-Fa-f]*/) != nil
      return !isNumber
        || labels.count == 4 && labels.allSatisfy { UInt8($0).map(String.init) == String($0) }
    }
  }

  private struct Case: Decodable {
    let input: String
    let base: String?
    /// The URL as a browser writes it; nil where it reads none.
    let href: String?
  }

  @Test func theURLsOfBrowsersAreReadAlike() throws {
    var tally = ForeignTally()
    for test in try foreignCases("urls.json", as: [Case].self) {
      let url = WebURL(test.input)
      tally.add(
        test.input.debugDescription, url != nil, isValid: test.href != nil,
        policy: test.href == nil ? nil : Policy(test.input)?.rawValue)
      guard let url, let href = test.href else { continue }
      #expect(written(url) == href)
    }
    #expect(try tally.total == foreignCounts()["urls.json"])
    #expect(tally.unexplained == [])
    #expect(
      tally.counts == [
        "accepted": 75, "refused": 267, "noAuthority": 281, "whitespaceOrControl": 60,
        "backslash": 40, "otherThanASCII": 38, "hostInAnotherSpelling": 34, "dotSegment": 24,
        "userInformation": 23, "portInAnotherSpelling": 19, "fileScheme": 15,
        "unencodedCharacter": 15,
      ])
  }

  /// The URL as a browser writes it (WHATWG URL, special schemes).
  private func written(_ url: WebURL) -> String {
    let ports: [String: UInt16] = ["http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21]
    let port = url.port.flatMap { $0 == ports[url.scheme] ? nil : ":\($0)" } ?? ""
    let path = url.rest.prefix { !"?#".contains($0) }
    let query = url.query.map { "?\($0)" } ?? ""
    let isSpecial = ports.keys.contains(url.scheme)
    return "\(url.scheme)://\(url.host)\(port)\(isSpecial ? url.path : String(path))"
      + (isSpecial ? query.replacing("'", with: "%27") : query)
      + (url.fragment.map { "#\($0)" } ?? "")
  }

  @Test func theURLsOfFoundationAreReadAlike() throws {
    var tally = ForeignTally()
    for text in try foreignCases("swift-urls.json", as: [String].self) {
      let (url, theirs) = (WebURL(text), URL(string: text))
      tally.add(
        text.debugDescription, url != nil, isValid: theirs?.host != nil,
        policy: theirs?.host == nil ? nil : Policy(text)?.rawValue)
      guard let url, let theirs else { continue }
      #expect(theirs.scheme?.lowercased() == url.scheme)
      #expect(theirs.host?.lowercased() == url.address ?? url.host)
      #expect(theirs.port == url.port.map(Int.init))
      #expect(theirs.query(percentEncoded: true) == url.query)
      #expect(theirs.fragment(percentEncoded: true) == url.fragment)
    }
    #expect(try tally.total == foreignCounts()["swift-urls.json"])
    #expect(tally.unexplained == [])
    #expect(
      tally.counts == [
        "accepted": 154, "refused": 113, "dotSegment": 28, "userInformation": 13,
        "hostInAnotherSpelling": 5, "whitespaceOrControl": 3, "backslash": 1,
        "unencodedCharacter": 1,
      ])
  }
}

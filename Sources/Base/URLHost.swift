import Glibc

/// The host of a URL (RFC 3986 §3.2.2), in a spelling that all URL parsers read in the same way.
///
/// Rejects percent-encoded octets and octets beyond ASCII, which some parsers decode; a dot at the
/// end, which some remove; numbers that some read as an IPv4 address (`2130706433`, `0177.0.0.1`,
/// `127.1`, `0x7f.0.0.1`); an IPv4 address inside an IPv6 address; and an IPv6 address in another
/// spelling than that of RFC 5952.
struct URLHost {
  /// In lower case; an IPv6 address in brackets.
  let text: String

  init?(_ text: Substring) {
    let known =
      text.hasPrefix("[") ? Self.addressInBrackets(text) : Self.isName(text) ? String(text) : nil
    guard let known else { return nil }
    self.text = known.lowercased()
  }

  /// Labels of letters, digits, `-` and `_` with a dot between; or four decimal numbers.
  private static func isName(_ text: Substring) -> Bool {
    let labels = text.split(separator: ".", omittingEmptySubsequences: false)
    let areLabels = labels.allSatisfy { label in
      (1...63).contains(label.utf8.count)
        && label.utf8.allSatisfy { $0.isAlphanumeric || "-_".utf8.contains($0) }
    }
    guard areLabels, text.utf8.count <= 253 else { return false }
    return !isNumber(labels.last!) || isAddress(labels)  // split returns at least one
  }

  /// Whether some parsers read a name with this last label as an IPv4 address (WHATWG URL, "ends in
  /// a number").
  private static func isNumber(_ label: Substring) -> Bool {
    let text = label.lowercased()
    return text.utf8.allSatisfy(\.isDigit)
      || text.hasPrefix("0x") && text.utf8.dropFirst(2).allSatisfy { $0.hexDigitValue != nil }
  }

  private static func isAddress(_ labels: [Substring]) -> Bool {
    labels.count == 4
      && labels.allSatisfy { label in UInt8(label).map { "\($0)" == label } ?? false }
  }

  /// The corresponding C functions are `inet_pton` and `inet_ntop`.
  private static func addressInBrackets(_ text: Substring) -> String? {
    guard text.hasSuffix("]"), text.utf8.count > 2 else { return nil }
    let inner = text.dropFirst().dropLast()
    var address = in6_addr()
    guard inner.utf8.allSatisfy({ $0.hexDigitValue != nil || $0 == UInt8(ascii: ":") }),
      inet_pton(AF_INET6, String(inner), &address) == 1
    else { return nil }
    var written = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(AF_INET6, &address, &written, socklen_t(written.count)) != nil else {
      return nil
    }
    let known = String(decoding: written.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
    // Some parsers keep another spelling, others replace it. ::ffff:7f00:1 is written
    // ::ffff:127.0.0.1.
    return known == inner.lowercased() ? "[\(known)]" : nil
  }
}

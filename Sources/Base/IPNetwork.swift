import Glibc

/// An IP address, or a network of addresses.
package struct IPNetwork: Hashable, Sendable {
  /// An IPv6 address; an IPv4 address as `::ffff:a.b.c.d` (RFC 4291 §2.5.5.2).
  private let bytes: [UInt8]
  /// The number of leading bits of ``bytes`` that count.
  private let length: Int

  /// - Parameter text: `192.0.2.1`, `192.0.2.0/24`, `2001:db8::1` or `2001:db8::/32`.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count <= 2, let bytes = Self.bytes(of: String(parts[0])) else { return nil }
    let isIPv4 = !parts[0].contains(":")
    var length = 128
    if parts.count == 2 {
      let digits = parts[1]
      guard digits.utf8.allSatisfy(\.isDigit), let number = Int(digits),
        number <= (isIPv4 ? 32 : 128)
      else { return nil }
      length = number + (isIPv4 ? 96 : 0)
    }
    self.bytes = bytes
    self.length = length
  }

  init(bytes: [UInt8], length: Int) {
    self.bytes = bytes
    self.length = length
  }

  /// This machine's own addresses.
  package static let loopback = [IPNetwork("127.0.0.1")!, IPNetwork("::1")!]

  /// Whether this is one address, not a range.
  package var isSingleAddress: Bool { length == 128 }

  /// Whether each address of `other` is in the network.
  package func contains(_ other: IPNetwork) -> Bool {
    other.length >= length && contains(other.bytes)
  }

  /// Whether the address is in the network; false for text that is not an address.
  package func contains(_ address: String) -> Bool {
    Self.bytes(of: address).map(contains) ?? false
  }

  fileprivate func contains(_ other: [UInt8]) -> Bool {
    (0..<length).allSatisfy { bit in
      let mask = UInt8(0x80) >> UInt8(bit % 8)
      return bytes[bit / 8] & mask == other[bit / 8] & mask
    }
  }

  package static func isAddress(_ text: String) -> Bool { bytes(of: text) != nil }

  /// Whether `address` is of this machine or this link, and so means another host to each reader. False for text that is not
  /// an address.
  package static func isLocal(_ address: String) -> Bool {
    bytes(of: address).map { bytes in local.contains { $0.contains(bytes) } } ?? false
  }

  private static let local = [
    "127.0.0.0/8", "::1", "169.254.0.0/16", "fe80::/10", "0.0.0.0/8", "::",
  ].map { IPNetwork($0)! }

  /// The address in an entry of `X-Forwarded-For`, without a port: `192.0.2.1`, `192.0.2.1:41234`, `2001:db8::1`,
  /// `[2001:db8::1]` or `[2001:db8::1]:443`.
  ///
  /// - Returns: nil for other text.
  package static func address(inHop text: String) -> String? {
    if isAddress(text) { return text }
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
      return bracketed(text)
    }
    let port = text.utf8[text.utf8.index(after: colon)...]
    guard (1...5).contains(port.count), port.allSatisfy(\.isDigit) else { return bracketed(text) }
    let host = String(text[..<colon])
    // The last group of a malformed IPv6 address is not a port.
    return host.utf8.contains(UInt8(ascii: ":"))
      ? bracketed(host) : isAddress(host) ? host : nil
  }

  /// The IPv6 address between brackets (RFC 3986 §3.2.2).
  private static func bracketed(_ text: String) -> String? {
    guard text.hasPrefix("["), text.hasSuffix("]") else { return nil }
    let address = String(text.dropFirst().dropLast())
    return address.utf8.contains(UInt8(ascii: ":")) && isAddress(address) ? address : nil
  }

  /// The corresponding C function is `inet_pton`.
  private static func bytes(of address: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16)
    if inet_pton(AF_INET6, address, &bytes) == 1 { return bytes }
    var ipv4 = [UInt8](repeating: 0, count: 4)
    guard inet_pton(AF_INET, address, &ipv4) == 1 else { return nil }
    return [UInt8](repeating: 0, count: 10) + [0xff, 0xff] + ipv4
  }
}

extension IPNetwork {
  /// Whether `address` is a public address of the internet: not private, not of this machine or
  /// this link, not shared by several networks or machines (IANA's registries of special-purpose
  /// addresses). False for text that is not an address.
  package static func isPublic(_ address: String) -> Bool {
    guard var bytes = bytes(of: address) else { return false }
    // Translators of networks with only IPv6 carry IPv4 addresses in these (RFC 6052 §2.1).
    if translated.contains(bytes) {
      bytes = [UInt8](repeating: 0, count: 10) + [0xff, 0xff] + bytes.suffix(4)
    }
    if allOfIPv4.contains(bytes) { return !special.contains { $0.contains(bytes) } }
    return globalUnicast.contains(bytes) && !special.contains { $0.contains(bytes) }
  }

  private static let allOfIPv4 = IPNetwork("0.0.0.0/0")!
  private static let globalUnicast = IPNetwork("2000::/3")!
  private static let translated = IPNetwork("64:ff9b::/96")!

  private static let special = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
    "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    // Addresses of Teredo, 6to4 and others hold an IPv4 address that is not checked here.
    "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
  ].map { IPNetwork($0)! }
}

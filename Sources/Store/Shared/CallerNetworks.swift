import Glibc

/// A network that the limits per address count.
struct CallerNetwork: Equatable {
  /// Its name in `rate_limits`: `192.0.2.1`, `2001:db8:0:1::/64`.
  let subject: String
  /// The limit of the network, as a multiple of the limit of one address.
  let factor: Int64
}

extension Origin {
  /// The networks that a limit per address counts: only this decides it.
  ///
  /// An IPv4 address counts by itself. An IPv6 address counts by its /64, because the caller can
  /// use every address in it, and by its /48, which a provider may give to one customer.
  var networks: [CallerNetwork] { callerNetworks(of: storedAddress) }
}

/// The networks of an address as ``Origin/storedAddress`` has it, the narrowest first.
func callerNetworks(of address: String) -> [CallerNetwork] {
  guard let bytes = ipv6Bytes(of: address) else {
    return [CallerNetwork(subject: address, factor: 1)]
  }
  // RFC 4291 §2.5.5.2: an IPv4 address that a socket for IPv6 reports.
  if bytes.starts(with: Array(repeating: 0, count: 10) + [0xff, 0xff]) {
    let ipv4 = bytes.suffix(4).map { String($0) }.joined(separator: ".")
    return [CallerNetwork(subject: ipv4, factor: 1)]
  }
  return [
    CallerNetwork(subject: network(of: bytes, groups: 4), factor: 1),
    CallerNetwork(subject: network(of: bytes, groups: 3), factor: 10),
  ]
}

/// The 16 bytes of an IPv6 address; nil for any other text. The corresponding C function is
/// `inet_pton`.
private func ipv6Bytes(of address: String) -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: 16)
  return inet_pton(AF_INET6, address, &bytes) == 1 ? bytes : nil
}

/// The network of the first groups of 16 bits, as text.
private func network(of bytes: [UInt8], groups count: Int) -> String {
  let groups = (0..<count).map { group in
    String(UInt16(bytes[2 * group]) << 8 | UInt16(bytes[2 * group + 1]), radix: 16)
  }
  return "\(groups.joined(separator: ":"))::/\(16 * count)"
}

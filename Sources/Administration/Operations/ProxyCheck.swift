import Base
import Delivery
import Glibc
import Store

extension Companion {
  /// Checks the addresses of callers: the proxies that may name them, and how many the site has seen.
  ///
  /// - Parameter proxies: `SWITCHBOARD_TRUSTED_PROXIES`; empty if it is not set here.
  func callerChecks(trusting proxies: [String], databaseAnswers: Bool) -> [CheckLine] {
    wideRanges(in: proxies, beside: ownNetworks())
      + (databaseAnswers ? [callerCount(hasProxies: !proxies.isEmpty)] : [])
  }

  private func callerCount(hasProxies: Bool) -> CheckLine {
    do {
      let callers = try database.records(at: .now(), from: .companion).countedLimits
        .callers(within: .seconds(86_400))
      let advice =
        hasProxies
        ? "with fewer than there are, see X-Forwarded-For of the proxies"
        : "with fewer than there are, a proxy is in front: name it in SWITCHBOARD_TRUSTED_PROXIES"
      return .ok("the site has seen \(callers) networks of callers within a day (\(advice))")
    } catch {
      return .problem(Database.problem(error))
    }
  }
}

/// A warning for each range that has hosts outside of `ownNetworks`.
func wideRanges(in proxies: [String], beside ownNetworks: [IPNetwork]) -> [CheckLine] {
  proxies.compactMap { text in
    guard let network = IPNetwork(text), !network.isSingleAddress,
      !ownNetworks.contains(where: { $0.contains(network) })
    else { return nil }
    return .warning(
      "SWITCHBOARD_TRUSTED_PROXIES has \(text), which is wider than this machine's own network: each host in it can name any "
        + "address as its client's. Let only the proxy's own servers reach the web server, or name single addresses"
    )
  }
}

/// The networks of this machine's interfaces. The corresponding C function is `getifaddrs`.
private func ownNetworks() -> [IPNetwork] {
  var first: UnsafeMutablePointer<ifaddrs>?
  guard getifaddrs(&first) == 0 else { return [] }
  defer { freeifaddrs(first) }
  return sequence(first: first, next: { $0?.pointee.ifa_next }).compactMap { entry in
    guard let interface = entry?.pointee, let address = text(of: interface.ifa_addr),
      let mask = prefixLength(interface.ifa_netmask)
    else { return nil }
    return IPNetwork("\(address)/\(mask)")
  }
}

/// The address as `inet_ntop` writes it; nil for other families.
private func text(of address: UnsafeMutablePointer<sockaddr>?) -> String? {
  withOctets(of: address) { octets, family in
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(family, octets.baseAddress, &text, socklen_t(text.count)) != nil else {
      return nil
    }
    return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

private func prefixLength(_ mask: UnsafeMutablePointer<sockaddr>?) -> Int? {
  withOctets(of: mask) { octets, _ in octets.reduce(0) { $0 + $1.nonzeroBitCount } }
}

private func withOctets<Result>(
  of address: UnsafeMutablePointer<sockaddr>?,
  _ body: (UnsafeRawBufferPointer, CInt) -> Result?
) -> Result? {
  guard let address else { return nil }
  let family = CInt(address.pointee.sa_family)
  let bytes = UnsafeRawPointer(address)
  switch family {
  case AF_INET:
    let offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)!
    return body(UnsafeRawBufferPointer(start: bytes + offset, count: 4), family)
  case AF_INET6:
    let offset = MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr)!
    return body(UnsafeRawBufferPointer(start: bytes + offset, count: 16), family)
  default: return nil
  }
}

import Base
import Testing

@Suite struct IPNetworkTests {
  @Test(arguments: [
    "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.1", "169.253.0.1", "172.15.0.1", "172.32.0.1", "192.167.0.1", "198.17.0.1",
    "223.255.255.255", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2001:4860:4860::8888",
    "2a00:1450::1", "2600::1",
  ])
  func addressesOfTheInternetArePublic(address: String) {
    #expect(IPNetwork.isPublic(address))
  }

  @Test(arguments: [
    ("192.0.2.0/24", "192.0.2.128/25", true), ("192.0.2.0/24", "192.0.2.0/24", true),
    ("192.0.2.0/24", "192.0.2.0/23", false), ("192.0.2.0/24", "192.0.3.0/24", false),
    ("::/0", "192.0.2.0/24", true), ("2001:db8::/32", "2001:db8:1::/48", true),
  ])
  func aNetworkContainsNarrowerOnes(network: String, other: String, isContained: Bool) throws {
    #expect(
      try #require(IPNetwork(network)).contains(try #require(IPNetwork(other))) == isContained)
  }

  @Test(arguments: [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
    "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255",
    "192.0.0.8", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1",
    "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
    "::ffff:169.254.169.254", "::127.0.0.1", "::8.8.8.8", "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::",
    "3fff::1", "5f00::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1",
    "4000::1", "", "localhost", "127.1",
  ])
  func privateAndSpecialAddressesAreNot(address: String) {
    #expect(!IPNetwork.isPublic(address))
  }
}

import Base
import HTTP
import Support
import Testing

@testable import API

/// The address of a caller that proxies pass on. It gives rights and counts for limits, and most of it is a stranger's text.
@Suite struct ForwardedAddressTests {
  private static let allowed = ["198.51.100.0/24", "2001:db8:1::/48", "127.0.0.0/8", "fe80::/10"]

  private func site<T>(
    trusting proxies: [String], _ body: (TestApplication) throws -> T
  ) throws -> T {
    try withApplication { site in
      let access = PairingAccess(
        allowed: Self.allowed.map { IPNetwork($0)! }, proxies: proxies.map { IPNetwork($0)! })
      return try body(TestApplication(site.root, settings: .ofTests(pairingAccess: access)))
    }
  }

  /// The caller in the database, and whether it may pair phones.
  private func caller(
    _ site: TestApplication, _ hops: String, from sender: String
  ) -> (address: String, pairs: Bool) {
    let fields = [(name: "X-Forwarded-For", value: hops)]
    let body =
      #"{"email":"a@example.org","name":"A","deviceId":"d","deviceName":"P","platform":"ios"}"#
    let answer = site.send(
      "POST", "/api/mobile/auth/register", body, fields: fields, address: sender)
    #expect(answer.status == 201, "\(answer.text)")
    let pairing = site.send("GET", "/api/pair/qr", fields: fields, address: sender)
    return (site.sql("SELECT created_from FROM accounts"), pairing.status == 200)
  }

  /// Anybody may have a server in a range, such as that of a CDN, and write what he wants before its address.
  @Test(arguments: [
    ("127.0.0.1, 203.0.113.99", "203.0.113.99"), ("198.51.100.1, 203.0.113.99", "203.0.113.99"),
    ("198.51.100.1, 203.0.113.99, 203.0.113.7", "203.0.113.99"),
    ("192.0.2.1, 2001:db8::9", "2001:db8::9"),
  ])
  func aRangeCountsOnlyForTheSender(hops: String, address: String) throws {
    try site(trusting: ["203.0.113.0/24", "2001:db8::/64", "203.0.113.7"]) { site in
      let found = caller(site, hops, from: "203.0.113.5")
      #expect(found.address == address)
      #expect(!found.pairs)
    }
  }

  @Test(arguments: [
    ("198.51.100.1, 203.0.113.7", "198.51.100.1"),
    ("192.0.2.9, 198.51.100.1, 203.0.113.7, 203.0.113.7:443", "198.51.100.1"),
    ("2001:db8:1::5, [2001:db8::7]:80, ::ffff:203.0.113.7", "2001:db8:1::5"),
  ])
  func aSingleAddressIsAlsoAFurtherHop(hops: String, address: String) throws {
    try site(trusting: ["203.0.113.0/24", "203.0.113.7", "2001:db8::7"]) { site in
      let found = caller(site, hops, from: "203.0.113.5")
      #expect(found.address == address)
      #expect(found.pairs)
    }
  }

  @Test(arguments: [
    "127.0.0.1", "::1", "::ffff:127.0.0.1", "127.8.9.1", "0:0:0:0:0:ffff:7f00:1", "[::1]:80",
    "127.0.0.1:80", "[::ffff:127.0.0.1]:80", "169.254.1.1", "fe80::1", "0.0.0.0", "::",
    "127.0.0.1, 203.0.113.7",
  ])
  func anAddressOfThisMachineIsTakenFromNoField(hops: String) throws {
    try site(trusting: ["203.0.113.7"]) { site in
      let found = caller(site, hops, from: "203.0.113.7")
      #expect(found.address == "203.0.113.7")
      #expect(!found.pairs)
    }
  }

  @Test(arguments: [
    ("192.0.2.9:41234", "192.0.2.9", false), ("[2001:db8::1]:443", "2001:db8::1", false),
    ("[2001:db8::1]", "2001:db8::1", false), ("198.51.100.1:1", "198.51.100.1", true),
    ("[2001:db8:1::5]:65535", "2001:db8:1::5", true),
    ("127.0.0.1, 192.0.2.9", "192.0.2.9", false),
    ("::ffff:127.0.0.1, 192.0.2.9", "192.0.2.9", false),
    // No addresses.
    ("198.51.100.1:", "203.0.113.7", false), ("198.51.100.1:123456", "203.0.113.7", false),
    ("198.51.100.1:80:80", "203.0.113.7", false), ("[198.51.100.1]:80", "203.0.113.7", false),
    ("[2001:db8:1::5", "203.0.113.7", false), ("2001:db8:1::5]:80", "203.0.113.7", false),
    (":80", "203.0.113.7", false), ("unknown", "203.0.113.7", false),
    ("198.51.100.1, unknown", "203.0.113.7", false),
  ])
  func aPortIsReadAndIgnored(hops: String, address: String, pairs: Bool) throws {
    try site(trusting: ["203.0.113.7"]) { site in
      let found = caller(site, hops, from: "203.0.113.7")
      #expect(found.address == address)
      #expect(found.pairs == pairs)
    }
  }

  private static let publicName = "switchboard.example.org"

  private func named<T>(
    trusting proxies: [String] = [], _ body: (TestApplication) throws -> T
  ) throws -> T {
    try withApplication { site in
      let settings = API.Settings.ofTests(
        publicURL: "https://\(Self.publicName)",
        pairingAccess: PairingAccess(proxies: proxies.map { IPNetwork($0)! }))
      return try body(TestApplication(site.root, settings: settings))
    }
  }

  private static let warning = "everybody can open this page"

  /// A proxy on this machine that sends no `X-Forwarded-For` makes each stranger look like this machine.
  @Test(arguments: [
    (publicName, "127.0.0.1", true), ("\(publicName):443", "::1", true),
    ("localhost", "127.0.0.1", false), ("127.0.0.1:8080", "127.0.0.1", false),
  ])
  func aProxyThatHidesItsClientsIsTold(host: String, address: String, isTold: Bool) throws {
    try named { site in
      let fields = [(name: "Host", value: host)]
      let page = site.send("GET", "/pair", fields: fields, address: address)
      #expect(page.status == 200)
      #expect(page.text.contains(Self.warning) == isTold)
      let health = site.send("GET", "/health", fields: fields, address: address)
      #expect(health.field("X-Seen-From") == (isTold ? "this machine" : nil))
    }
  }

  @Test func whereProxiesAreKnownNothingIsTold() throws {
    try named(trusting: ["203.0.113.7"]) { site in
      let fields = [(name: "Host", value: Self.publicName)]
      #expect(
        !site.send("GET", "/pair", fields: fields, address: "127.0.0.1").text
          .contains(Self.warning))
      let health = site.send("GET", "/health", fields: fields, address: "127.0.0.1")
      #expect(health.field("X-Seen-From") == nil)
    }
  }

  /// nginx keeps the path to itself; other web servers pass it on.
  @Test(arguments: ["GET", "HEAD", "POST", "DELETE", "OPTIONS"])
  func thePathOfAuthorizationIsUnknownToClients(method: String) throws {
    try withAgent { site in
      let token = try site.pairingToken()
      for target in ["/_auth", "/_auth?token=\(token)", "/%5Fauth"] {
        let request = Request(
          method: method, path: "/_auth", fields: [("Authorization", "Bearer \(token)")],
          requestURI: target)
        let answer = site.application.answer(to: request)
        #expect(answer.status == 404, "\(target)")
        #expect(answer.text == #"{"error":"Not found"}"#)
      }
      let asked = Request(
        path: "/_auth", fields: [("Authorization", "Bearer \(token)")], requestURI: "/api/file")
      #expect(site.application.answer(to: asked).status == 204)
    }
  }
}

import Base
import Support
import Testing

@testable import Store

/// The addresses that count as one caller in the limits per address.
@Suite struct CallerNetworkTests {
  private static let limit = Limit(name: "test", allowed: 3, window: .seconds(60))

  /// Whether a hit from `address` is within the limit.
  private static func hit(_ database: Database, _ address: String) throws -> Bool {
    let origin = Origin(requestID: "r", address: address)
    let records = database.records(at: Timestamp(seconds: 1_795_000_000), from: origin)
    do {
      try records.countAddress(limit)
      return true
    } catch is RateLimited {
      return false
    }
  }

  @Test(arguments: [
    ("192.0.2.1", ["192.0.2.1"]), ("", [""]), ("unix:", ["unix:"]), ("1.2.3", ["1.2.3"]),
    ("::ffff:192.0.2.1", ["192.0.2.1"]), ("::FFFF:c000:201", ["192.0.2.1"]),
    ("2001:db8:1:2:3:4:5:6", ["2001:db8:1:2::/64", "2001:db8:1::/48"]),
    ("2001:DB8:0001:2::", ["2001:db8:1:2::/64", "2001:db8:1::/48"]),
    ("2001:db8::1", ["2001:db8:0:0::/64", "2001:db8:0::/48"]),
    ("::1", ["0:0:0:0::/64", "0:0:0::/48"]),
    ("::fffe:192.0.2.1", ["0:0:0:0::/64", "0:0:0::/48"]),
    (String(repeating: "x", count: 500), [String(repeating: "x", count: 45)]),
  ])
  func anAddressCountsForItsNetworks(address: String, subjects: [String]) {
    let networks = Origin(requestID: "r", address: address).networks
    #expect(networks.map(\.subject) == subjects)
    #expect(networks.map(\.factor) == (subjects.count == 1 ? [1] : [1, 10]))
  }

  @Test func theAddressesOfOneNetworkShareALimit() throws {
    try withStore { store throws in
      let database = store.database("responder")
      for host in 1...3 { #expect(try Self.hit(database, "2001:db8:1:2::\(host)")) }
      #expect(try !Self.hit(database, "2001:db8:1:2:ffff::4"))
      #expect(try Self.hit(database, "2001:db8:1:3::4"))
      for _ in 1...3 { #expect(try Self.hit(database, "192.0.2.1")) }
      #expect(try !Self.hit(database, "::ffff:192.0.2.1"))
      #expect(try Self.hit(database, "192.0.2.2"))
    }
  }

  @Test func aSiteOfManyNetworksMayDoTenTimesAsMuch() throws {
    try withStore { store throws in
      let database = store.database("responder")
      for network in 1...30 { #expect(try Self.hit(database, "2001:db8:1:\(network)::1")) }
      #expect(try !Self.hit(database, "2001:db8:1:31::1"))
      #expect(try !Self.hit(database, "2001:db8:1:1::1"))
      #expect(try Self.hit(database, "2001:db8:2:1::1"))
      #expect(
        store.sql("SELECT hits, allowed FROM rate_limits WHERE subject = '2001:db8:1::/48'")
          == "30\t30")
      // A refused hit does not count for any network.
      #expect(store.sql("SELECT COUNT(*) FROM rate_limits WHERE subject LIKE '%:31::%'") == "0")
    }
  }

  @Test func sixtyFourCallersOfOneSiteAtOncePassAsOftenAsAllowed() throws {
    try withStore { store throws in
      let database = store.database("responder")
      let passed = try inParallel(64) { number in
        try Self.hit(database, "2001:db8:1:\(number % 32)::\(number)")
      }
      #expect(passed.filter { $0 }.count == 30)
    }
  }
}

import Base
import Support
import Testing

@testable import Administration
@testable import Delivery

/// The check of the addresses of callers.
@Suite struct ProxyCheckTests {
  @Test(arguments: [
    (["203.0.113.7", "2001:db8::7"], []), (["192.168.7.0/24", "192.168.7.128/25"], []),
    (["203.0.113.0/24", "203.0.113.7"], ["203.0.113.0/24"]),
    (["192.168.0.0/16", "0.0.0.0/0"], ["192.168.0.0/16", "0.0.0.0/0"]),
    (["fd00:1::/48"], ["fd00:1::/48"]), (["fd00:1::/64", "x"], []),
  ])
  func rangesWiderThanTheOwnNetworkAreWarnedOf(proxies: [String], wide: [String]) {
    let own = ["127.0.0.1/8", "192.168.7.3/24", "fd00:1::3/64"].map { IPNetwork($0)! }
    let lines = wideRanges(in: proxies, beside: own)
    #expect(lines.map(\.result) == wide.map { _ in "warning" })
    for (line, range) in zip(lines, wide) {
      #expect(line.text.hasPrefix("SWITCHBOARD_TRUSTED_PROXIES has \(range), which is wider"))
    }
  }

  @Test func theCheckTellsOfRangesAndOfTheNumberOfCallers() throws {
    try withDelivery { delivery throws in
      delivery.sql(
        """
        INSERT INTO rate_limits (name, subject, window_started_at, window_seconds, hits, allowed)
        VALUES ('a', '192.0.2.1', UTC_TIMESTAMP(3), 60, 1, 9), ('b', '192.0.2.1', UTC_TIMESTAMP(3), 60, 1, 9),
          ('a', '192.0.2.2', UTC_TIMESTAMP(3), 60, 1, 9), ('a', '2001:db8:1:2::/64', UTC_TIMESTAMP(3), 60, 1, 9),
          ('a', '2001:db8:1::/48', UTC_TIMESTAMP(3), 60, 1, 9), ('a', 'email:00', UTC_TIMESTAMP(3), 60, 1, 9),
          ('a', '17', UTC_TIMESTAMP(3), 60, 1, 9), ('a', UUID(), UTC_TIMESTAMP(3), 60, 1, 9),
          ('a', '192.0.2.3', UTC_TIMESTAMP(3) - INTERVAL 2 DAY, 60, 1, 9)
        """)
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      let lines = companion.check(proxies: ["203.0.113.0/24"])
      #expect(lines.contains { $0.result == "warning" && $0.text.contains("203.0.113.0/24") })
      #expect(
        lines.contains {
          $0.result == "ok"
            && $0.text.hasPrefix("the site has seen 3 networks of callers within a day")
        }, "\(lines)")
      #expect(!lines.contains { $0.isProblem })
    }
  }

  /// The site's name may lead to this machine from this machine alone, as in Debian's /etc/hosts.
  @Test(arguments: [
    (true, "203.0.113.7", true), (true, "2001:db8::1", true), (true, "127.0.1.1", false),
    (true, "::1", false), (true, nil, false), (false, "203.0.113.7", false),
  ])
  func aProxyThatHidesItsClientsIsAProblem(isSeen: Bool, address: String?, isProblem: Bool) {
    let problem = SiteAnswer.pairingProblem(isSeenAsThisMachine: isSeen, at: address)
    #expect((problem != nil) == isProblem)
  }
}

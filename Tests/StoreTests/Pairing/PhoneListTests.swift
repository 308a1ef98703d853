import Base
import MariaDB
import Support
import Testing

@testable import Store

/// The paired phones that administrators list, see, name and remove.
@Suite struct PhoneListTests {
  private typealias Site = ViewedSite

  @Test func aPairedPhoneIsLiveUntilItEndsOrExpires() throws {
    let rows = """
      INSERT INTO pairings (id, name, user_agent, address, paired_at, last_used_at, rotated_at, expires_at, ended_at, end_reason)
        VALUES
        (\(Site.id(1)), 'live', 'u', 'a', '2026-11-01', '2026-11-01', '2026-11-01', \(Site.justAfter), NULL, NULL),
        (\(Site.id(2)), 'expires', 'u', 'a', '2026-11-01', '2026-11-01', '2026-11-01', \(Site.now), NULL, NULL),
        (\(Site.id(3)), 'ended', 'u', 'a', '2026-11-01', '2026-11-01', '2026-11-01', \(Site.justAfter), '2026-11-02', 'phone');
      """
    try withViewedSite(rows) { site throws in
      site.expect(
        "paired_devices", "name, is_live", ["live 1", "expires 0", "ended 0"],
        sortedBy: "device_id")
    }
  }

  @Test func phonesAreListedThatMayReachTheAgentTheLastUsedFirst() throws {
    let rows = """
      INSERT INTO pairings (id, name, user_agent, address, paired_at, last_used_at, rotated_at, expires_at, ended_at, end_reason)
        VALUES
        (\(Site.id(2)), '', 'app/2', 'a2', '2026-11-02', '2026-11-05', '2026-11-01', \(Site.justAfter), NULL, NULL),
        (\(Site.id(1)), 'Given', 'app/1', 'a1', '2026-11-01', '2026-11-05', '2026-11-01', '2026-11-19', NULL, NULL),
        (\(Site.id(3)), '', 'app/3', 'a3', '2026-11-02', '2026-11-06', '2026-11-01', '2026-11-19', NULL, NULL),
        (\(Site.id(4)), 'expires', 'u', 'a', '2026-11-01', '2026-11-01', '2026-11-01', \(Site.now), NULL, NULL),
        (\(Site.id(5)), 'ended', 'u', 'a', '2026-11-01', '2026-11-01', '2026-11-01', '2026-11-19', '2026-11-02', 'phone');
      """
    try withViewedSite(rows) { site throws in
      site.expect(
        try site.records().pairedDevices.list(),
        ["03 - app/3 a3 11-02 11-06", "01 Given app/1 a1 11-01 11-05", "02 - app/2 a2 11-02 11-05"])
    }
  }

  /// One that is live, one that expires now, and one that has ended.
  @Test func onlyALivingPhoneIsNamedAndOneThatHasNotEndedIsRemoved() throws {
    let rows = """
      INSERT INTO pairings (id, name, user_agent, address, paired_at, last_used_at, rotated_at, expires_at, ended_at, end_reason)
        VALUES
        (\(Site.id(1)), 'a', 'u', 'a', '2026-11-01', '2026-11-01', '2026-11-01', \(Site.justAfter), NULL, NULL),
        (\(Site.id(2)), 'b', 'u', 'a', '2026-11-01', '2026-11-01', '2026-11-01', \(Site.now), NULL, NULL),
        (\(Site.id(3)), 'c', 'u', 'a', '2026-11-01', '2026-11-01', '2026-11-01', '2026-11-19', '2026-11-02', 'phone'),
        (\(Site.id(4)), 'd', 'u', 'a', '2026-11-01', '2026-11-01', '2026-11-01', '2026-11-19', NULL, NULL);
      """
    try withViewedSite(rows) { site throws in
      let phones = site.records("responder").pairedDevices
      let name = try #require(PhoneName("new"))
      for number in [2, 3, 9] {
        #expect(try !phones.rename(Site.value(Site.id(number)), to: name), "\(number)")
      }
      #expect(try phones.rename(Site.value(Site.id(1)), to: name))
      for number in [3, 9] { #expect(try !phones.revoke(Site.value(Site.id(number))), "\(number)") }
      #expect(try phones.revoke(Site.value(Site.id(1))))
      #expect(
        site.sql("SELECT name, ended_at, end_reason FROM pairings ORDER BY id").replacing(
          "\t", with: " ")
            == """
            new 2026-11-18 12:00:00.000 administrator
            b NULL NULL
            c 2026-11-02 00:00:00.000 phone
            d NULL NULL
            """)
    }
  }
}

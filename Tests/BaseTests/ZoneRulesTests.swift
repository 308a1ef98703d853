import Foundation
import Testing

@testable import Base

/// The offsets of time zones, compared with Foundation's, which reads the same files with its own
/// code.
@Suite struct ZoneRulesTests {
  private static let zones = [
    "UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe", "Pacific/Chatham", "Africa/Casablanca", "Asia/Tehran", "Etc/GMT+5",
    "Europe/Dublin", "America/St_Johns",
  ]

  /// Instants from 1975 to 2036, every 13 days and some hours.
  private static let instants = stride(from: Int64(157_766_400), to: 2_082_758_400, by: 1_139_777)

  @Test(arguments: zones)
  func theOffsetIsThatOfTheSystem(name: String) throws {
    let rules = try #require(ZoneRules(named: name))
    let zone = try #require(TimeZone(identifier: name))
    for instant in Self.instants {
      let date = Date(timeIntervalSince1970: Double(instant))
      #expect(
        rules.offset(at: instant) == Int64(zone.secondsFromGMT(for: date)), "\(name) \(instant)")
    }
  }

  /// Files of other systems end with the current rule instead of a list until 2037.
  @Test(arguments: ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Chatham"])
  func aRuleHoldsAfterTheLastChange(name: String) throws {
    let path = "/usr/share/zoneinfo/\(name)"
    let whole = try #require(ZoneRules(named: name))
    let file = Array(try Data(contentsOf: URL(filePath: path)))
    let rules = try #require(ZoneRules(file: withoutChanges(file)))
    // The current rule is valid since 2008.
    for instant in Self.instants where (1_230_768_000..<2_082_758_400).contains(instant) {
      #expect(rules.offset(at: instant) == whole.offset(at: instant), "\(name) \(instant)")
    }
  }

  /// The file with its last line and without its list of changes.
  private func withoutChanges(_ file: [UInt8]) -> [UInt8] {
    let header = Array("TZif2".utf8) + [UInt8](repeating: 0, count: 15)
    // One type at offset 0 named "X".
    let counts: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    let block = header + counts + [0, 0, 0, 0, 0, 0] + Array("X\0".utf8)
    let lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    return block + block + [10] + lines[lines.count - 2] + [10]
  }

  @Test(arguments: [
    "", "Europe", "Europe/Nowhere", "../../../etc/passwd", "/etc/localtime", "Europe/Berlin/",
    "europe berlin", "zone.tab", "Europe/Berlin\0",
  ])
  func whatIsNoZoneIsRefused(name: String) {
    #expect(ZoneRules(named: name) == nil)
  }

  @Test func brokenFilesAreRefused() throws {
    let file = Array(try Data(contentsOf: URL(filePath: "/usr/share/zoneinfo/Europe/Berlin")))
    for count in stride(from: 0, to: file.count, by: 7) {
      _ = ZoneRules(file: Array(file[..<count]))
    }
    #expect(ZoneRules(file: []) == nil)
    #expect(ZoneRules(file: Array(file[..<100])) == nil)
  }
}

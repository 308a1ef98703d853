import Foundation
import Testing

@testable import Base

@Suite struct TimestampTests {
  private static let formatter = Date.ISO8601FormatStyle(timeZone: .gmt)

  @Test func instantsAreWrittenAsFoundationWritesThem() {
    let day: Int64 = 86_400
    // The first and the last second of each day from 1969 to 2140.
    for number in Int64(-365)...62_000 {
      for second in [number * day, number * day + day - 1] {
        let date = Date(timeIntervalSince1970: Double(second))
        #expect(Timestamp(seconds: second).rfc3339 == Self.formatter.format(date))
      }
    }
  }

  @Test(arguments: [
    (Int64(0), "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
    (951_782_399, "2000-02-28T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
    (951_868_800, "2000-03-01T00:00:00Z"), (1_709_164_800, "2024-02-29T00:00:00Z"),
    (1_677_628_800, "2023-03-01T00:00:00Z"), (4_107_542_399, "2100-02-28T23:59:59Z"),
    (4_107_542_400, "2100-03-01T00:00:00Z"), (2_147_483_648, "2038-01-19T03:14:08Z"),
    (253_402_300_799, "9999-12-31T23:59:59Z"), (-62_167_219_200, "0000-01-01T00:00:00Z"),
    (-2_203_891_200, "1900-03-01T00:00:00Z"),
  ])
  func knownInstantsAreWrittenRight(seconds: Int64, text: String) {
    #expect(Timestamp(seconds: seconds).rfc3339 == text)
  }

  @Test(arguments: [
    (Int64(0), true), (253_402_300_799_999, true), (-1, false), (253_402_300_800_000, false),
    (.min, false), (.max, false),
  ])
  func timesOfOthersAreOfTheYears1970To9999(milliseconds: Int64, isTaken: Bool) {
    #expect((Timestamp(givenMilliseconds: milliseconds) != nil) == isTaken)
    let seconds = milliseconds.quotientAndRemainder(flooredBy: 1000).0
    #expect((Timestamp(givenSeconds: seconds) != nil) == isTaken)
  }

  /// Old rows may hold any.
  @Test(arguments: [Int64.min, .max, -62_167_219_200_001, 253_402_300_800_000])
  func eachInstantIsWritten(milliseconds: Int64) {
    #expect(Timestamp(milliseconds: milliseconds).rfc3339.utf8.count == 20)
  }

  @Test func instantsAtRandomAreWrittenAsFoundationWritesThem() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      // From 1700 (the Gregorian calendar only) to 9999.
      let second = Int64.random(in: -8_520_336_000...253_402_300_799, using: &random)
      let date = Date(timeIntervalSince1970: Double(second))
      #expect(Timestamp(seconds: second).rfc3339 == Self.formatter.format(date), "\(second)")
    }
  }

  @Test(arguments: [
    (Int64(0), Int64(0)), (999, 0), (1000, 1), (1999, 1), (-1, -1), (-999, -1), (-1000, -1),
    (-1001, -2),
  ])
  func secondsAreRoundedDown(milliseconds: Int64, seconds: Int64) {
    #expect(Timestamp(milliseconds: milliseconds).seconds == seconds)
    #expect(
      Timestamp(milliseconds: milliseconds).rfc3339 == Timestamp(seconds: seconds).rfc3339)
  }

  @Test func spansAreAddedAndSubtracted() {
    let instant = Timestamp(milliseconds: 1_500)
    #expect(instant + .seconds(2) == Timestamp(milliseconds: 3_500))
    #expect(instant - .milliseconds(1_501) == Timestamp(milliseconds: -1))
    #expect(Timestamp(seconds: 5) - instant == .milliseconds(3_500))
    #expect(instant < Timestamp(milliseconds: 1_501))
    #expect(Duration.microseconds(1_999).milliseconds == 1)
  }

  @Test func nowIsTheSystemsClock() {
    let before = Int64(Date.now.timeIntervalSince1970 * 1000) - 1
    let now = Timestamp.now().milliseconds
    let after = Int64(Date.now.timeIntervalSince1970 * 1000) + 1
    #expect((before...after).contains(now))
  }
}

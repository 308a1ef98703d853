import Glibc

/// An instant: milliseconds since 1970-01-01T00:00:00Z, the unit of the database's DATETIME(3).
package struct Timestamp: Hashable, Comparable, Sendable {
  package let milliseconds: Int64

  package init(milliseconds: Int64) {
    self.milliseconds = milliseconds
  }

  package init(seconds: Int64) {
    self.init(milliseconds: seconds * 1000)
  }

  /// The instants that are taken from others: the years 1970 to 9999. All arithmetic with these and with our spans fits, and a
  /// DATETIME holds them.
  private static let given: ClosedRange<Int64> = 0...253_402_300_799_999

  /// An instant that another program or person gave.
  ///
  /// - Returns: nil outside of the years 1970 to 9999.
  package init?(givenMilliseconds milliseconds: Int64) {
    guard Self.given.contains(milliseconds) else { return nil }
    self.init(milliseconds: milliseconds)
  }

  /// Like ``init(givenMilliseconds:)``.
  package init?(givenSeconds seconds: Int64) {
    guard (0...Self.given.upperBound / 1000).contains(seconds) else { return nil }
    self.init(seconds: seconds)
  }

  /// Unix seconds, rounded down: the unit of `iat` and `exp` (RFC 7519 §2).
  package var seconds: Int64 { milliseconds.quotientAndRemainder(flooredBy: 1000).0 }

  package static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

  package static func + (instant: Timestamp, span: Duration) -> Timestamp {
    Timestamp(milliseconds: instant.milliseconds + span.milliseconds)
  }

  package static func - (instant: Timestamp, span: Duration) -> Timestamp {
    Timestamp(milliseconds: instant.milliseconds - span.milliseconds)
  }

  package static func - (later: Timestamp, earlier: Timestamp) -> Duration {
    .milliseconds(later.milliseconds - earlier.milliseconds)
  }

  /// The time of something that has happened: `now` if the instant is later, because the clock was set
  /// back since.
  package func past(at now: Timestamp) -> Timestamp { min(self, now) }
}

extension Timestamp {
  /// The instant in UTC with whole seconds: `2025-09-20T12:00:00Z` (RFC 3339 §5.6; some apps'
  /// parsers refuse a fraction). A year before 0 is shown as 0, and only four digits of a later one than 9999.
  package var rfc3339: String {
    let (days, second) = seconds.quotientAndRemainder(flooredBy: 86_400)
    let date = CivilDate(dayNumber: days)
    let form: StaticString = "0000-00-00T00:00:00Z"
    return String(unsafeUninitializedCapacity: form.utf8CodeUnitCount) { buffer in
      buffer.baseAddress!.initialize(from: form.utf8Start, count: form.utf8CodeUnitCount)
      func put(_ value: Int64, at start: Int, digits: Int) {
        var rest = value
        for index in stride(from: start + digits - 1, through: start, by: -1) {
          buffer[index] = UInt8(ascii: "0") + UInt8(rest % 10)
          rest /= 10
        }
      }
      put(max(date.year, 0), at: 0, digits: 4)
      put(date.month, at: 5, digits: 2)
      put(date.day, at: 8, digits: 2)
      put(second / 3600, at: 11, digits: 2)
      put(second / 60 % 60, at: 14, digits: 2)
      put(second % 60, at: 17, digits: 2)
      return form.utf8CodeUnitCount
    }
  }
}

extension Duration {
  /// Whole milliseconds, rounded toward zero.
  package var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}

extension Timestamp {
  /// The system's clock (`clock_gettime`, CLOCK_REALTIME).
  package static func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }
}

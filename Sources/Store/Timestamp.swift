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

  /// Unix seconds, rounded down: the unit of `iat` and `exp` (RFC 7519 §2).
  package var seconds: Int64 { milliseconds.flooredQuotient(by: 1000) }

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
}

extension Timestamp {
  /// The instant in UTC with whole seconds: `2025-09-20T12:00:00Z` (RFC 3339 §5.6; some apps'
  /// parsers refuse a fraction).
  package var rfc3339: String {
    let (days, second) = seconds.quotientAndRemainder(flooredBy: 86_400)
    let (year, month, day) = Self.civil(days)
    return String(unsafeUninitializedCapacity: 20) { buffer in
      func put(_ value: Int64, at start: Int, digits: Int) {
        var rest = value
        for index in stride(from: start + digits - 1, through: start, by: -1) {
          buffer[index] = UInt8(ascii: "0") + UInt8(rest % 10)
          rest /= 10
        }
      }
      put(year, at: 0, digits: 4)
      put(month, at: 5, digits: 2)
      put(day, at: 8, digits: 2)
      put(second / 3600, at: 11, digits: 2)
      put(second / 60 % 60, at: 14, digits: 2)
      put(second % 60, at: 17, digits: 2)
      for (index, mark) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "Z")] {
        buffer[index] = mark.utf8.first!
      }
      return 20
    }
  }

  /// Year, month and day of a day counted from 1970-01-01 in the Gregorian calendar, by eras of 400
  /// years that begin on 1 March.
  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(flooredBy: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    let day = dayOfYear - (153 * shifted + 2) / 5 + 1
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}

extension Duration {
  /// Whole milliseconds, rounded toward zero.
  package var milliseconds: Int64 {
    components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
  }
}

extension Int64 {
  fileprivate func quotientAndRemainder(flooredBy divisor: Int64) -> (Int64, Int64) {
    let quotient = flooredQuotient(by: divisor)
    return (quotient, self - quotient * divisor)
  }

  fileprivate func flooredQuotient(by divisor: Int64) -> Int64 {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? quotient - 1 : quotient
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

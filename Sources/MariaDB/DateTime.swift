import Base
import CMariaDB

private let millisecondsPerDay: Int64 = 86_400_000

extension MYSQL_TIME {
  /// The UTC date and time `milliseconds` after 1970-01-01 00:00, Gregorian also before 1582.
  init(milliseconds: Int64) {
    self.init()
    let (dayNumber, time) = milliseconds.quotientAndRemainder(flooredBy: millisecondsPerDay)
    let date = CivilDate(dayNumber: dayNumber)
    precondition((0...9999).contains(date.year), "outside the range of DATETIME")
    (year, month, day) = (UInt32(date.year), UInt32(date.month), UInt32(date.day))
    hour = UInt32(time / 3_600_000)
    minute = UInt32(time / 60_000 % 60)
    second = UInt32(time / 1000 % 60)
    second_part = UInt(time % 1000 * 1000)
    time_type = MYSQL_TIMESTAMP_DATETIME
  }

  /// Unix milliseconds; microseconds are cut. A month or a day of zero, which a session may allow itself to write, counts as
  /// the first.
  var milliseconds: Int64 {
    let date = CivilDate(
      year: Int64(year), month: Int64(max(month, 1)), day: Int64(max(day, 1)))
    let seconds = Int64(hour) * 3600 + Int64(minute) * 60 + Int64(second)
    return date.dayNumber * millisecondsPerDay + seconds * 1000 + Int64(second_part / 1000)
  }
}

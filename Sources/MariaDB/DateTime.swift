import CMariaDB

private let millisecondsPerDay: Int64 = 86_400_000

extension MYSQL_TIME {
  /// The UTC date and time `milliseconds` after 1970-01-01 00:00, Gregorian also before 1582.
  init(milliseconds: Int64) {
    self.init()
    let day = milliseconds.flooredQuotient(by: millisecondsPerDay)
    let time = milliseconds - day * millisecondsPerDay
    (year, month, self.day) = civilDate(ofDay: day)
    hour = UInt32(time / 3_600_000)
    minute = UInt32(time / 60_000 % 60)
    second = UInt32(time / 1000 % 60)
    second_part = UInt(time % 1000 * 1000)
    time_type = MYSQL_TIMESTAMP_DATETIME
  }

  /// Unix milliseconds; microseconds are cut.
  var milliseconds: Int64 {
    precondition(month > 0 && day > 0, "a zero date is no instant")
    let days = dayNumber(year: Int64(year), month: Int64(month), day: Int64(day))
    let seconds = Int64(hour) * 3600 + Int64(minute) * 60 + Int64(second)
    return days * millisecondsPerDay + seconds * 1000 + Int64(second_part / 1000)
  }
}

// Years are counted from March, so that the leap day is the last of its year: then the days before
// month m (March = 0) are (153 m + 2) / 5. An era is the 146,097 days of 400 years; day 0 of era 0
// is 0000-03-01, which is 719,468 days before 1970-01-01.

private func dayNumber(year: Int64, month: Int64, day: Int64) -> Int64 {
  let y = month > 2 ? year : year - 1
  let era = y.flooredQuotient(by: 400)
  let yearOfEra = y - era * 400
  let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
  let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}

private func civilDate(ofDay number: Int64) -> (year: UInt32, month: UInt32, day: UInt32) {
  let shifted = number + 719_468
  let era = shifted.flooredQuotient(by: 146_097)
  let dayOfEra = shifted - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let month = (5 * dayOfYear + 2) / 153
  let day = dayOfYear - (153 * month + 2) / 5 + 1
  let year = era * 400 + yearOfEra + (month >= 10 ? 1 : 0)
  precondition((0...9999).contains(year), "outside the range of DATETIME")
  return (UInt32(year), UInt32(month < 10 ? month + 3 : month - 9), UInt32(day))
}

extension Int64 {
  fileprivate func flooredQuotient(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}

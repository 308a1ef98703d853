/// A date of the Gregorian calendar, also before 1582.
///
/// Years are counted from March, so that the leap day is the last day of its year: the days before
/// month m (March is 0) are then (153 m + 2) / 5. An era is the 146,097 days of 400 years; day 0 of
/// era 0 is 0000-03-01, which is 719,468 days before 1970-01-01.
package struct CivilDate: Hashable, Sendable {
  package let year: Int64
  /// 1 to 12
  package let month: Int64
  /// 1 to 31
  package let day: Int64

  package init(year: Int64, month: Int64, day: Int64) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// The date `number` days after 1970-01-01.
  package init(dayNumber number: Int64) {
    let (era, dayOfEra) = (number + 719_468).quotientAndRemainder(flooredBy: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    month = shifted < 10 ? shifted + 3 : shifted - 9
    day = dayOfYear - (153 * shifted + 2) / 5 + 1
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// Days since 1970-01-01.
  package var dayNumber: Int64 {
    let (era, yearOfEra) = (month > 2 ? year : year - 1).quotientAndRemainder(flooredBy: 400)
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }
}

extension Int64 {
  /// Quotient and remainder, the quotient rounded down.
  package func quotientAndRemainder(flooredBy divisor: Int64) -> (Int64, Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}

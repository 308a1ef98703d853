import Glibc

/// Clock changes of a time zone, from a file of the system's database (RFC 8536).
package struct ZoneRules: Sendable {
  private struct Change {
    /// Unix seconds.
    let at: Int64
    /// The offset from then on, in seconds east of UTC.
    let offset: Int64
  }

  private let changes: [Change]
  /// The offset before the first change.
  private let firstOffset: Int64
  /// The rule after the last change; nil if the last offset stays.
  private let rule: YearlyRule?

  /// - Parameter name: such as `Europe/Berlin`.
  /// - Returns: nil if the system has no such zone.
  package init?(named name: String) {
    let isName = name.utf8.allSatisfy {
      $0.isLetter || $0.isDigit || "+-_/".utf8.contains($0)
    }
    guard isName, (1...64).contains(name.utf8.count), !name.hasPrefix("/"), !name.hasSuffix("/"),
      let bytes = Self.read("/usr/share/zoneinfo/\(name)")
    else { return nil }
    self.init(file: bytes)
  }

  /// - Parameter bytes: a file of version 2 or later.
  init?(file bytes: [UInt8]) {
    guard let first = Header(bytes, at: 0), first.version >= UInt8(ascii: "2"),
      let header = Header(bytes, at: first.end(timeSize: 4))
    else { return nil }
    let times = header.start
    let kinds = times + header.timeCount * 8
    let types = kinds + header.timeCount
    guard header.typeCount > 0, header.end(timeSize: 8) <= bytes.count else { return nil }
    func offset(ofType type: Int) -> Int64 {
      Int64(Int32(truncatingIfNeeded: bytes.bigEndian(at: types + type * 6, size: 4)))
    }
    var changes: [Change] = []
    for index in 0..<header.timeCount {
      let type = Int(bytes[kinds + index])
      guard type < header.typeCount else { return nil }
      changes.append(
        Change(at: bytes.bigEndian(at: times + index * 8, size: 8), offset: offset(ofType: type)))
    }
    self.changes = changes
    firstOffset = offset(ofType: 0)
    rule = YearlyRule(bytes[header.end(timeSize: 8)...].filter { $0 != UInt8(ascii: "\n") })
  }

  /// Seconds east of UTC.
  package func offset(at seconds: Int64) -> Int64 {
    guard let next = changes.firstIndex(where: { $0.at > seconds }) else {
      return rule?.offset(at: seconds) ?? changes.last?.offset ?? firstOffset
    }
    return next == 0 ? firstOffset : changes[next - 1].offset
  }

  private static func read(_ path: String) -> [UInt8]? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
    return bytes
  }
}

/// The counts before a block of data (RFC 8536 §3.1).
private struct Header {
  let version: UInt8
  /// Position of the data.
  let start: Int
  let timeCount: Int
  let typeCount: Int
  private let others: (utc: Int, standard: Int, leap: Int, characters: Int)

  init?(_ bytes: [UInt8], at start: Int) {
    guard bytes.count >= start + 44, bytes[start..<start + 4].elementsEqual("TZif".utf8) else {
      return nil
    }
    version = bytes[start + 4]
    let counts = (0..<6).map { Int(bytes.bigEndian(at: start + 20 + $0 * 4, size: 4)) }
    others = (counts[0], counts[1], counts[2], counts[5])
    timeCount = counts[3]
    typeCount = counts[4]
    self.start = start + 44
    guard counts.allSatisfy({ $0 < 100_000 }) else { return nil }
  }

  func end(timeSize: Int) -> Int {
    start + timeCount * (timeSize + 1) + typeCount * 6 + others.characters
      + others.leap * (timeSize + 4) + others.standard + others.utc
  }
}

/// A rule such as `CET-1CEST,M3.5.0,M10.5.0/3` (POSIX, TZ): summer time between two Sundays, every year.
private struct YearlyRule {
  private struct Day {
    let month: Int64
    /// 5 means the last.
    let week: Int64
    /// 0 means Sunday.
    let weekday: Int64
    /// Seconds after midnight by the clock before the change.
    let time: Int64
  }

  private let standard: Int64
  private let summer: (offset: Int64, from: Day, to: Day)?

  /// - Returns: nil if the text is not a rule of this form.
  init?(_ text: [UInt8]) {
    var text = Scanner(text)
    guard text.skipName(), let west = text.time() else { return nil }
    standard = -west
    guard !text.isAtEnd else {
      summer = nil
      return
    }
    guard text.skipName() else { return nil }
    let summerWest = text.time() ?? west - 3600
    guard let from = Self.day(&text), let to = Self.day(&text) else { return nil }
    summer = (-summerWest, from, to)
  }

  private static func day(_ text: inout Scanner) -> Day? {
    guard text.take(","), text.take("M"), let month = text.number(), text.take("."),
      let week = text.number(), text.take("."), let weekday = text.number()
    else { return nil }
    let time = text.take("/") ? text.time() : 7200
    return time.map { Day(month: month, week: week, weekday: weekday, time: $0) }
  }

  func offset(at seconds: Int64) -> Int64 {
    guard let summer else { return standard }
    let days = (seconds + standard).quotientAndRemainder(flooredBy: 86_400).0
    let year = CivilDate(dayNumber: days).year
    let from = Self.instant(summer.from, in: year) - standard
    let to = Self.instant(summer.to, in: year) - summer.offset
    let isSummer =
      from < to ? (from..<to).contains(seconds) : !(to..<from).contains(seconds)
    return isSummer ? summer.offset : standard
  }

  /// Seconds by the zone's own clock.
  private static func instant(_ day: Day, in year: Int64) -> Int64 {
    let first = CivilDate(year: year, month: day.month, day: 1).dayNumber
    let next =
      CivilDate(
        year: day.month == 12 ? year + 1 : year, month: day.month % 12 + 1, day: 1
      ).dayNumber
    // 1970-01-01 was a Thursday.
    let weekday = (first + 4).quotientAndRemainder(flooredBy: 7).1
    var date = first + (day.weekday - weekday + 7) % 7 + (day.week - 1) * 7
    while date >= next { date -= 7 }
    return date * 86_400 + day.time
  }
}

private struct Scanner {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ mark: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: mark) else { return false }
    rest.removeFirst()
    return true
  }

  /// Skips letters, or any text between angle brackets.
  mutating func skipName() -> Bool {
    if take("<") {
      rest = rest.drop { $0 != UInt8(ascii: ">") }
      return take(">")
    }
    let name = rest.prefix { $0.isLetter }
    rest = rest.dropFirst(name.count)
    return name.count >= 3
  }

  mutating func number() -> Int64? {
    let digits = rest.prefix { $0.isDigit }
    rest = rest.dropFirst(digits.count)
    return Int64(String(decoding: digits, as: UTF8.self))
  }

  /// `[+-]hh[:mm[:ss]]`, in seconds.
  mutating func time() -> Int64? {
    let sign: Int64 = take("-") ? -1 : 1
    _ = sign == 1 && take("+")
    guard let hours = number() else { return nil }
    let minutes = take(":") ? number() ?? 0 : 0
    let seconds = take(":") ? number() ?? 0 : 0
    return sign * (hours * 3600 + minutes * 60 + seconds)
  }
}

extension [UInt8] {
  fileprivate func bigEndian(at start: Int, size: Int) -> Int64 {
    self[start..<start + size].reduce(0) { $0 << 8 | Int64($1) }
  }
}

import Base
import Store

/// Quiet hours as clients write them: `{"from": "22:00", "to": "07:00"}`.
struct GivenQuietHours: Decodable {
  private let from: String
  private let to: String

  /// - Throws: ``Failure/badRequest(_:)``.
  var hours: TurnSettings.QuietHours {
    get throws {
      guard let from = Self.minutes(from), let to = Self.minutes(to), from != to else {
        throw Failure.badRequest(
          "quiet_hours must be null, or have from and to: two different times such as 22:00")
      }
      return TurnSettings.QuietHours(from: from, to: to)
    }
  }

  /// The minutes since midnight of a time `HH:MM`; nil if it is malformed.
  private static func minutes(_ text: String) -> Int64? {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.count == 2 && $0.allSatisfy(\.isDigit) }),
      let hour = Int64(String(parts[0])!), let minute = Int64(String(parts[1])!),
      hour < 24, minute < 60
    else { return nil }
    return hour * 60 + minute
  }
}

/// - Throws: ``Failure/badRequest(_:)`` unless the system knows a time zone with this name.
func checkedTimeZone(_ name: String) throws -> String {
  guard ZoneRules(named: name) != nil else {
    throw Failure.badRequest("time_zone must be a name such as Europe/Berlin")
  }
  return name
}

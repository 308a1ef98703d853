package import Base
import MariaDB

/// The receiver of a player's notifications, as it registers: a phone or a browser.
package struct TurnDevice: Sendable {
  /// The token, as its channel knows it.
  package let token: String
  package let channel: Channel
  /// The sealed subscription of a browser; nil for other devices.
  let sealed: String?
  /// The language of its notifications; nil: the earlier one, or else English.
  package var language: Language?
  package var quietHours = QuietHoursChange.keep

  package enum QuietHoursChange: Sendable {
    case keep
    /// nil: the user's quiet hours apply.
    case set(PhoneQuietHours?)
  }

  /// A device of Apple's.
  package init(_ token: DeviceToken) {
    self.init(token.text, .apns)
  }

  /// An Android device.
  ///
  /// - Returns: nil for the token of a browser.
  package init?(android token: PushToken) {
    if token.isOfBrowser { return nil }
    self.init(token.text, .fcm)
  }

  /// - Parameter sealed: the subscription, for the companion.
  package init(_ browser: WebSubscription, sealed: String) {
    self.init(browser.token.text, .webPush, sealed: sealed)
  }

  private init(_ token: String, _ channel: Channel, sealed: String? = nil) {
    self.token = token
    self.channel = channel
    self.sealed = sealed
  }
}

/// Quiet hours of one phone: they replace those of its user.
package struct PhoneQuietHours: Sendable, Equatable {
  package let hours: TurnSettings.QuietHours
  /// A name of the system's time zones; nil: the zone of the user's settings.
  package let timeZone: String?

  package init(_ hours: TurnSettings.QuietHours, timeZone: String?) {
    self.hours = hours
    self.timeZone = timeZone
  }

  /// The columns quiet_from, quiet_to, time_zone, in that order from `column`; nil if there are no
  /// hours.
  init?(row: borrowing Row, _ column: Int) {
    guard let from = row.optionalInteger(column), let to = row.optionalInteger(column + 1) else {
      return nil
    }
    self.init(
      TurnSettings.QuietHours(from: from, to: to), timeZone: row.optionalText(column + 2))
  }
}

package import Base

/// A notification to a player, as it is sent.
package struct TurnMessage: Sendable {
  /// The event of the notification.
  package enum Event: Sendable {
    /// It is the user's turn in these games, in the order of online-go.com; at least one. `isUrgent`: one of them has
    /// less than an hour for the move.
    case turns([TurnGame], isUrgent: Bool)
    /// Less than an hour is left for the user's move.
    case clock(TurnGame)
    case ended(TurnGame)
    /// Only the number on the app's icon.
    case badge
    /// The events of these notifications, which the device shows, have ended.
    case removal([RemovedAlert])
  }

  package struct RemovedAlert: Sendable {
    package let collapseID: String
    /// Unix milliseconds: the newest move of the notification. A newer notification with the same
    /// collapse id stays.
    package let lastMove: Int64

    package init(collapseID: String, lastMove: Int64) {
      self.collapseID = collapseID
      self.lastMove = lastMove
    }
  }

  /// The reader of the notification on a device.
  package struct Reader: Sendable {
    /// nil for ``Event/badge`` and ``Event/removal(_:)``, which concern all users of the device.
    package let userID: Int64?
    /// The number of games that wait for the users of the device.
    package let badge: Int64
    package let language: Language

    package init(_ userID: Int64?, badge: Int64, language: Language = .english) {
      self.userID = userID
      self.badge = badge
      self.language = language
    }
  }

  package typealias Maker = @Sendable (_ event: Event, _ reader: Reader) -> TurnMessage

  /// At most 64 bytes.
  package let collapseID: String
  /// JSON, at most 3993 bytes, which every channel accepts.
  package let payload: [UInt8]
  package let lifetime: Duration

  package init(collapseID: String, payload: [UInt8], lifetime: Duration) {
    self.collapseID = collapseID
    self.payload = payload
    self.lifetime = lifetime
  }
}

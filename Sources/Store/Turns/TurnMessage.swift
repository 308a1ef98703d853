package import Base

/// A notification to a player, as it is sent.
package struct TurnMessage: Sendable {
  /// What it tells.
  package enum Event: Sendable {
    /// It is the user's turn in these games, in the order of online-go.com; at least one. `isUrgent`: one of them has
    /// less than an hour for the move.
    case turns([TurnGame], isUrgent: Bool)
    /// Less than an hour is left for the user's move.
    case clock(TurnGame)
    case ended(TurnGame)
    /// Nothing but the number on the app's icon.
    case badge
    /// These notifications, which the device shows, are over.
    case removal([RemovedAlert])
  }

  package struct RemovedAlert: Sendable {
    package let collapseID: String
    /// Unix milliseconds: of the newest move that it told of. A newer notification with the same collapse id stays.
    package let lastMove: Int64

    package init(collapseID: String, lastMove: Int64) {
      self.collapseID = collapseID
      self.lastMove = lastMove
    }
  }

  /// To whom a device tells it.
  package struct Reader: Sendable {
    /// nil for ``Event/badge`` and ``Event/removal(_:)``, which are of all users of the device.
    package let userID: Int64?
    /// How many games wait for the users of the device.
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
  /// JSON, at most 3993 bytes: as every channel takes it.
  package let payload: [UInt8]
  package let lifetime: Duration

  package init(collapseID: String, payload: [UInt8], lifetime: Duration) {
    self.collapseID = collapseID
    self.payload = payload
    self.lifetime = lifetime
  }
}

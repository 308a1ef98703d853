/// A notification to a player, as it is sent.
package struct TurnMessage: Sendable {
  /// What it tells.
  package enum Event: Sendable {
    /// It is the user's turn in these games, in the order of online-go.com; at least one.
    case turns([TurnGame])
    /// Less than an hour is left for the user's move.
    case clock(TurnGame)
    case ended(TurnGame)
    /// Nothing but the number on the app's icon.
    case badge
  }

  /// Makes the notification of an event that puts `badge` on the app's icon. `userID` is nil for ``Event/badge``.
  package typealias Maker =
    @Sendable (_ event: Event, _ userID: Int64?, _ badge: Int64) -> TurnMessage

  /// At most 64 bytes.
  package let collapseID: String
  /// JSON, at most 4096 bytes, as Apple takes it.
  package let payload: [UInt8]
  package let lifetime: Duration

  package init(collapseID: String, payload: [UInt8], lifetime: Duration) {
    self.collapseID = collapseID
    self.payload = payload
    self.lifetime = lifetime
  }
}

import Base

/// A family of rotating refresh tokens, as its row has it.
struct RefreshFamily {
  /// Generation of the newest refresh token.
  let generation: Int64
  /// Whether an access token of the newest generation has been used.
  let isConfirmed: Bool
  /// When the newest generation was made or, if it has been used, first used.
  let changedAt: Timestamp
  let isAlive: Bool

  enum Verdict {
    /// The token is the newest: make a successor.
    case rotate
    /// Its successor has not arrived, or not everywhere: hand it out again.
    case sameAgain
    /// Another call has just rotated the family; nothing changes.
    case tooLate
    /// The family has ended, or never had this token.
    case dead
    /// The token was used before: it was copied.
    case reused
  }

  /// Confirm-by-use: what to do with the refresh token of `presented`.
  ///
  /// | presented | answer |
  /// |---|---|
  /// | the newest | rotate |
  /// | the one before, its successor unused, or made or first used at most 10 s ago | the same successor again |
  /// | any other, the newest made or first used at most 60 s ago | too late |
  /// | any other | reused |
  ///
  /// Counted from the first use too: after a lost answer, an app may send the old token twice, much later.
  func verdict(on presented: Int64, at now: Timestamp) -> Verdict {
    guard isAlive, presented <= generation else { return .dead }
    let age = now - changedAt
    if presented == generation { return .rotate }
    if presented == generation - 1, !isConfirmed || age <= .seconds(10) { return .sameAgain }
    return age <= .seconds(60) ? .tooLate : .reused
  }
}

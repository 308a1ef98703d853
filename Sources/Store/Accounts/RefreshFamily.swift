import Base

/// The place of a token in its family.
package struct TokenPlace: Sendable, Equatable {
  package let generation: Int64
  /// 0 in tokens from before tokens had branches.
  package let branch: Int64

  package init(generation: Int64, branch: Int64) {
    self.generation = generation
    self.branch = branch
  }

  /// - Parameter number: the claim `gen` of a token.
  package init(number: Int64) {
    self.init(generation: number & Self.mostGenerations, branch: number >> 32)
  }

  /// Both in one number, the claim `gen` of tokens. In branch 0 it is the generation, as before tokens had
  /// branches.
  package var number: Int64 { generation | branch << 32 }

  private static let mostGenerations = Int64(UInt32.max)
}

/// The newest tokens of a family, as its row has them.
///
/// Branches are counted through the life of the family: a refresh token whose answer was lost gets another
/// successor, of the same generation and the next branch. The branch before is dead from then on.
struct NewestTokens: Equatable {
  let generation: Int64
  let branch: Int64
  /// The branch with which the generation began: that of the tokens of the generation before.
  let firstBranch: Int64

  enum Standing {
    case living
    /// Another successor was given out in place of this token.
    case dead
    /// Two generations old or more, so that its branch may be dead; or newer than the row, because a
    /// backup was restored.
    case unknown
  }

  func standing(of token: TokenPlace) -> Standing {
    // Every branch since then belongs to the generation of the token or to later ones.
    if token.branch == branch { return .living }
    if token.branch > branch { return .unknown }
    if token.generation >= generation { return .dead }
    if token.generation < generation - 1 { return .unknown }
    return token.branch == firstBranch ? .living : .dead
  }

  /// Whether the use of an access token at `place` confirms that the newest tokens have arrived.
  func areConfirmed(by place: TokenPlace) -> Bool {
    place.generation == generation && standing(of: place) == .living
  }

  /// How often a successor in this generation was replaced by another one.
  var lateAnswers: Int64 { branch - firstBranch }
}

/// A family of rotating refresh tokens, as its row has it.
struct RefreshFamily {
  let newest: NewestTokens
  /// Whether an access token of the newest branch has been used.
  let isConfirmed: Bool
  /// When the newest refresh token was given out last.
  let answeredAt: Timestamp
  /// When the newest refresh token was made or, if its access token has been used, first used.
  let changedAt: Timestamp
  /// The network that asked for the newest refresh token; empty if it is unknown.
  let network: String
  let isAlive: Bool

  /// The time in which calls that an app makes at once reach us.
  static let parallelTime = Duration.seconds(10)
  /// How often an answer may be lost in one generation.
  private static let mostLateAnswers: Int64 = 10

  enum Verdict {
    /// The token is the newest: make a successor.
    case rotate
    /// Calls that an app makes at once get the same successor.
    case sameAgain
    /// The answer was lost: make another successor, instead of the one before.
    case branch
    /// Another call has just rotated the family; nothing changes.
    case tooLate
    /// The family has ended, or never had this token.
    case dead
    /// The token was copied: it was used before, or another successor was given out in its place.
    case reused
  }

  /// Confirm-by-use: what to do with the refresh token at the place `presented`.
  ///
  /// | presented | answer |
  /// |---|---|
  /// | of a dead branch | reused |
  /// | the newest | rotate |
  /// | the one before, at most 10 s after the successor was given out last, from the same network | the same successor again |
  /// | the one before, its successor unused | another successor; the eleventh time in a generation reused |
  /// | any other, the newest made or first used at most 60 s ago | too late |
  /// | any other | reused |
  ///
  /// A thief who copied a token and waits never shares a successor with the phone, unless he asks in its own
  /// network within the same ten seconds.
  func verdict(
    on presented: TokenPlace, from network: String, at now: Timestamp
  ) -> Verdict {
    guard isAlive, presented.generation <= newest.generation else { return .dead }
    if presented.branch > newest.branch { return .dead }
    if newest.standing(of: presented) == .dead { return .reused }
    if presented.generation == newest.generation { return .rotate }
    if presented.generation == newest.generation - 1 {
      if isParallel(from: network, at: now) { return .sameAgain }
      if !isConfirmed {
        return newest.lateAnswers < Self.mostLateAnswers ? .branch : .reused
      }
    }
    return now - changedAt <= .seconds(60) ? .tooLate : .reused
  }

  /// Whether the call belongs to those that got the newest refresh token.
  ///
  /// A time in the future is now: the clock was set back. But then a successor that has been used may be
  /// an hour old. The clocks of hosts differ a little.
  private func isParallel(from network: String, at now: Timestamp) -> Bool {
    guard self.network.isEmpty || self.network == network else { return false }
    if isConfirmed, answeredAt > now + Self.parallelTime { return false }
    return now - answeredAt.past(at: now) <= Self.parallelTime
  }
}

extension Origin {
  /// The network in which calls that an app makes at once arrive: a /24 of IPv4, a /64 of IPv6.
  var refreshNetwork: String {
    let narrowest = networks[0].subject
    let parts = narrowest.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4, parts.allSatisfy({ UInt8($0) != nil }) else { return narrowest }
    return "\(parts[0]).\(parts[1]).\(parts[2]).0/24"
  }
}

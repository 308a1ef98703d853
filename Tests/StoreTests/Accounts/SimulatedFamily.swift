import Base

@testable import Store

/// The row of a family of refresh tokens, changed as the statements change it. The verdicts are
/// ``RefreshFamily``'s. `RefreshModelTests` compares rules and statements with the real answers.
struct SimulatedFamily {
  private(set) var newest = NewestTokens(generation: 1, branch: 0, firstBranch: 0)
  private(set) var isConfirmed = false
  private(set) var hasEnded = false
  /// The first rule that an answer broke.
  private(set) var problem: String?
  private var answeredAt: Timestamp
  private var changedAt: Timestamp
  private var network = ""
  private var expiresAt: Timestamp

  init(at now: Timestamp) {
    answeredAt = now
    changedAt = now
    expiresAt = now + Session.idleLifetime
  }

  enum Answer: Equatable {
    case tokens(TokenPlace)
    case tooLate
    case dead
  }

  func isAlive(at now: Timestamp) -> Bool { !hasEnded && expiresAt > now }

  private func verdict(
    on place: TokenPlace, from network: String, at now: Timestamp
  ) -> RefreshFamily.Verdict {
    RefreshFamily(
      newest: newest, isConfirmed: isConfirmed, answeredAt: answeredAt, changedAt: changedAt,
      network: self.network, isAlive: isAlive(at: now)
    ).verdict(on: place, from: network, at: now)
  }

  /// Whether the refresh token would get tokens.
  func isGood(_ place: TokenPlace, from network: String, at now: Timestamp) -> Bool {
    switch verdict(on: place, from: network, at: now) {
    case .rotate, .sameAgain, .branch: true
    case .tooLate, .dead, .reused: false
    }
  }

  mutating func refresh(_ place: TokenPlace, from network: String, at now: Timestamp) -> Answer {
    let wasAlive = isAlive(at: now)
    switch verdict(on: place, from: network, at: now) {
    case .rotate:
      newest = NewestTokens(
        generation: newest.generation + 1, branch: newest.branch, firstBranch: newest.branch)
      give(to: network, at: now)
    case .branch:
      newest = NewestTokens(
        generation: newest.generation, branch: newest.branch + 1, firstBranch: newest.firstBranch)
      give(to: network, at: now)
      if newest.lateAnswers > 10 { problem = "more than ten answers are given again" }
    case .sameAgain: answeredAt = now
    case .tooLate:
      if now - changedAt > .seconds(60) { problem = "a copied token is not noticed" }
      return .tooLate
    case .dead:
      if wasAlive { problem = "a living family is refused" }
      return .dead
    case .reused:
      hasEnded = true
      return .dead
    }
    if !wasAlive { problem = "an ended family is refreshed" }
    return .tokens(TokenPlace(generation: newest.generation, branch: newest.branch))
  }

  private mutating func give(to network: String, at now: Timestamp) {
    (answeredAt, changedAt, isConfirmed, self.network) = (now, now, false, network)
    expiresAt = now + Session.idleLifetime
  }

  /// Uses an access token. That of a dead branch ends the family.
  mutating func use(_ place: TokenPlace, at now: Timestamp) {
    guard isAlive(at: now) else { return }
    if newest.standing(of: place) == .dead { hasEnded = true }
    if newest.areConfirmed(by: place), !isConfirmed { (isConfirmed, changedAt) = (true, now) }
  }
}

import Base
import Foundation
import Store
import Support
import Testing

@testable import API

/// Compares refreshes with a model of their rules, in random walks of time, uses and refreshes.
@Suite struct RefreshModelTests {
  /// The model of one family.
  struct Family {
    struct Generation {
      let refreshToken: String
      let expiresAt: Timestamp
      var accessToken: String
      var accessExpiresAt: Timestamp
    }

    enum Expected { case rotated, same, branch, conflict, limited, dead, reuse }

    let createdAt: Timestamp
    var generations: [Generation]
    var isConfirmed = false
    /// When the newest tokens were made.
    var madeAt: Timestamp
    /// When the newest tokens were made or first used.
    var changedAt: Timestamp
    /// The network that asked for the newest tokens.
    var network = ""
    /// The answers of this generation that were given again, and are dead.
    var lateAnswers = 0
    /// Tokens of dead branches, the newest last.
    var dead: [Generation] = []
    var hasEnded = false
    var rotations = 0
    var windowBegan: Timestamp?

    init(_ tokens: SignedIn, at now: Timestamp) {
      createdAt = now
      madeAt = now
      changedAt = now
      generations = [
        Generation(
          refreshToken: tokens.refreshToken, expiresAt: now + .seconds(30 * 86_400),
          accessToken: tokens.accessToken, accessExpiresAt: now + .seconds(3600))
      ]
    }

    func isAlive(at now: Timestamp) -> Bool {
      !hasEnded && generations.last!.expiresAt > now
    }

    /// The expected result of a refresh with the token `back` generations before the newest.
    func expected(back: Int, from network: String, at now: Timestamp) -> Expected {
      let presented = generations[generations.count - 1 - back]
      guard isAlive(at: now), presented.expiresAt > now else { return .dead }
      let age = now - changedAt
      if back == 0 { return hasRotationsLeft(at: now) ? .rotated : .limited }
      if back == 1, now - madeAt <= .seconds(10), network == self.network { return .same }
      if back == 1, !isConfirmed { return lateAnswers < 10 ? .branch : .reuse }
      return age <= .seconds(60) ? .conflict : .reuse
    }

    private func hasRotationsLeft(at now: Timestamp) -> Bool {
      guard let windowBegan, now - windowBegan < .seconds(3600) else { return true }
      return rotations < 30
    }

    mutating func rotate(_ answer: Answer, from network: String, at now: Timestamp) throws {
      if let began = windowBegan, now - began < .seconds(3600) {
        rotations += 1
      } else {
        windowBegan = now
        rotations = 1
      }
      lateAnswers = 0
      try append(answer, from: network, at: now)
    }

    mutating func branch(_ answer: Answer, from network: String, at now: Timestamp) throws {
      lateAnswers += 1
      dead.append(generations.removeLast())
      try append(answer, from: network, at: now)
    }

    private mutating func append(
      _ answer: Answer, from network: String, at now: Timestamp
    ) throws {
      isConfirmed = false
      (madeAt, changedAt) = (now, now)
      self.network = network
      generations.append(
        Generation(
          refreshToken: try #require(answer.refreshToken),
          expiresAt: min(now + .seconds(30 * 86_400), createdAt + .seconds(365 * 86_400)),
          accessToken: try #require(answer.accessToken), accessExpiresAt: now + .seconds(3600)))
    }
  }

  /// An account that is signed in on two devices.
  struct Walk {
    let site: TestApplication
    var chance: SeededGenerator
    var families: [Family] = []
    private var step = 0
    private var people = 0
    var seen: [Family.Expected: Int] = [:]

    init(_ site: TestApplication, seed: UInt64) {
      self.site = site
      chance = SeededGenerator(state: seed)
    }

    mutating func signIn() throws {
      people += 1
      let (email, device) = ("user\(people)@example.org", "device-\(people)")
      let address = "192.0.2.\(people % 250)"
      let first = try site.signUp(email: email, device: device, address: address)
      let second = try site.signIn(email, device: "\(device)b", address: address)
      families = [Family(first, at: site.now), Family(second, at: site.now)]
    }

    mutating func takeStep() throws {
      step += 1
      let isIn = families.contains { $0.isAlive(at: site.now) }
      if families.isEmpty || !isIn && Int.random(in: 0...3, using: &chance) == 0 { try signIn() }
      switch Int.random(in: 0..<100, using: &chance) {
      case ..<30: pass()
      case ..<32: useDead(.random(in: 0...1, using: &chance))
      case ..<50: use(.random(in: 0...1, using: &chance))
      default: try refresh(.random(in: 0...1, using: &chance))
      }
    }

    private mutating func pass() {
      let spans: [Double] = [
        0.5, 2, 4, 9.9, 10.1, 20, 45, 59.9, 60.1, 90, 600, 3500, 3700, 86_400, 2e6,
      ]
      site.advance(by: .milliseconds(Int64(spans.randomElement(using: &chance)! * 1000)))
    }

    private mutating func use(_ index: Int) {
      let back = min(Int.random(in: 0...1, using: &chance), families[index].generations.count - 1)
      let generation = families[index].generations[families[index].generations.count - 1 - back]
      let isGood = families[index].isAlive(at: site.now) && generation.accessExpiresAt > site.now
      let answer = site.summary(generation.accessToken)
      #expect(answer.status == (isGood ? 200 : 401), "step \(step)")
      if isGood, back == 0, !families[index].isConfirmed {
        families[index].isConfirmed = true
        families[index].changedAt = site.now
      }
    }

    /// Uses the access token of a branch that has just died: it ends the session.
    private mutating func useDead(_ index: Int) {
      let family = families[index]
      guard family.lateAnswers > 0, family.isAlive(at: site.now), let dead = family.dead.last,
        dead.accessExpiresAt > site.now
      else { return }
      #expect(site.summary(dead.accessToken).status == 401, "step \(step)")
      families[index].hasEnded = true
      seen[.reuse, default: 0] += 1
    }

    private mutating func refresh(_ index: Int) throws {
      let now = site.now
      let steps = [0, 0, 0, 1, 1, 1, 1, 2, 3].randomElement(using: &chance)!
      let back = min(steps, families[index].generations.count - 1)
      let newest = families[index].generations.count - 1
      let number = Int.random(in: 0...4, using: &chance) / 4
      let network = "10.0.\(number).0/24"
      let expected = families[index].expected(back: back, from: network, at: now)
      seen[expected, default: 0] += 1
      let answer = site.refresh(
        families[index].generations[newest - back].refreshToken,
        address: "10.0.\(number).\(step % 250)")
      let note = "step \(step): family \(index), g-\(back), \(expected), \(answer.text)"
      switch expected {
      case .rotated:
        try #require(answer.status == 200, "\(note)")
        try families[index].rotate(answer, from: network, at: now)
      case .branch:
        #expect(answer.status == 200, "\(note)")
        try families[index].branch(answer, from: network, at: now)
        let (dead, living) = (families[index].dead.last, families[index].generations[newest])
        #expect(dead?.refreshToken != living.refreshToken)
      case .same:
        #expect(answer.status == 200, "\(note)")
        #expect(answer.refreshToken == families[index].generations[newest].refreshToken, "\(note)")
        families[index].generations[newest].accessToken = try #require(answer.accessToken)
        families[index].generations[newest].accessExpiresAt = now + .seconds(3600)
      case .conflict: #expect(answer.status == 409, "\(note)")
      case .limited: #expect(answer.status == 429, "\(note)")
      case .dead: #expect(answer.status == 401, "\(note)")
      case .reuse:
        #expect(answer.status == 401, "\(note)")
        families[index].hasEnded = true
      }
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func randomWalksFollowTheModel(seed: UInt64) throws {
    try withApplication { site in
      var walk = Walk(site, seed: seed)
      for _ in 1...500 { try walk.takeStep() }
      for outcome in [Family.Expected.rotated, .same, .branch, .conflict, .reuse, .dead] {
        #expect(walk.seen[outcome, default: 0] > 2, "\(outcome) in \(walk.seen)")
      }
    }
  }

  /// Two requests of an app that get 401 at once both refresh, long after an answer was lost.
  @Test func aSecondRequestLongAfterALostAnswerIsNoTheft() throws {
    try withApplication { site in
      let first = try site.signUp().refreshToken
      #expect(site.refresh(first).status == 200)  // the answer is lost
      site.advance(by: .seconds(3000))
      let again = site.refresh(first)
      #expect(site.summary(try #require(again.accessToken)).status == 200)
      #expect(site.refresh(first).refreshToken == again.refreshToken)
    }
  }

  /// The owner and a thief with a copied refresh token both use it; at most one of them keeps a
  /// session.
  @Test(arguments: [false, true], [Duration.seconds(20), .seconds(70), .seconds(4000)])
  func ownerAndThiefOfATokenDoNotBothKeepASession(thiefIsFirst: Bool, pause: Duration) throws {
    try withApplication { site in
      let stolen = try site.signUp().refreshToken
      let first = site.refresh(stolen, address: thiefIsFirst ? "203.0.113.9" : "192.0.2.1")
      #expect(site.summary(try #require(first.accessToken)).status == 200)
      site.advance(by: pause)
      let second = site.refresh(stolen, address: thiefIsFirst ? "192.0.2.1" : "203.0.113.9")
      #expect(second.status == (pause < .seconds(60) ? 409 : 401))
      #expect(second.accessToken == nil)
      #expect(
        site.refresh(try #require(first.refreshToken)).status == (pause < .seconds(60) ? 200 : 401))
    }
  }
}

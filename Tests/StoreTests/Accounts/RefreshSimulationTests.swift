import Base
import Support
import Testing

@testable import Store

/// Random histories of refreshes. `SWITCHBOARD_HISTORIES=100000` plays more of them.
@Suite struct RefreshSimulationTests {
  @Test func noHonestPhoneIsSignedOut() {
    let problems = simulate(20_000) { seed in
      var phone = SimulatedRefreshes(seed: seed)
      for number in 0..<Int.random(in: 10...80, using: &phone.chance) {
        phone.step()
        if phone.happens(oneOf: 30) { phone.setClockBack() }
        if phone.isExpired { return nil }  // unused for 30 days
        if let problem = phone.problem { return "\(problem) at step \(number)" }
      }
      return nil
    }
    #expect(problems == [])
  }

  @Test func phoneAndThiefDoNotBothStay() {
    let problems = simulate(20_000) { seed in
      var thief = SimulatedThief(seed: seed)
      return thief.play()
    }
    #expect(problems == [])
  }

  /// He refreshes first, every hour, and does not use what he gets.
  @Test func aThiefWhoKnowsTheHourIsOutAfterOneRotation() {
    var phone = SimulatedRefreshes(seed: 1)
    phone.losesAnswers = false
    var stolen = phone.stored
    var rounds = 0
    for _ in 1...120 {
      phone.pass(.seconds(3570))
      guard case .tokens(let place) = phone.ask(stolen, from: "203.0.113.0/24") else { break }
      rounds += 1
      stolen = place
      phone.pass(.seconds(30))
      phone.refresh()
      phone.useTokens()
    }
    #expect(rounds == 1)
    #expect(phone.family.hasEnded, "his next try ends the session")
  }

  /// The app lost the answer, was offline for a day, and makes three calls at once.
  @Test func aPhoneThatWasOfflineForADayGetsIn() {
    for seed: UInt64 in 1...100 {
      var phone = SimulatedRefreshes(seed: seed)
      _ = phone.ask(phone.stored, from: phone.network)
      phone.pass(.seconds(86_400))
      phone.losesAnswers = false
      for _ in 1...3 { phone.refresh() }
      phone.useTokens()
      #expect(phone.problem == nil)
    }
  }
}

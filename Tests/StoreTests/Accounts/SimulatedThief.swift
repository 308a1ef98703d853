import Base
import Support

@testable import Store

/// A random history of a phone and a thief who has copied its refresh token. He waits, polls at any pace and
/// with any token that he holds, knows the hour at which the phone refreshes, and uses nothing before the
/// phone has.
///
/// He asks from another network, or from the phone's, but then not within the same ten seconds.
struct SimulatedThief {
  private var phone: SimulatedRefreshes
  private var held: [TokenPlace] = []
  private let isInPhonesNetwork: Bool
  /// The rotations since both have been able to get tokens.
  private var rotations: Int64 = 0
  private var generation: Int64 = 0

  init(seed: UInt64) {
    phone = SimulatedRefreshes(seed: seed)
    isInPhonesNetwork = phone.happens(oneOf: 3)
  }

  private var network: String { isInPhonesNetwork ? phone.network : "203.0.113.0/24" }

  /// - Returns: the first problem.
  mutating func play() -> String? {
    for _ in 0..<Int.random(in: 0...15, using: &phone.chance) { phone.step() }
    if phone.problem != nil || phone.isExpired || phone.family.hasEnded { return nil }
    held = [phone.stored]
    generation = phone.family.newest.generation
    for number in 0..<40 {
      step()
      if phone.family.hasEnded || phone.isExpired { return phone.family.problem }
      if let problem = check() { return "\(problem) at step \(number)" }
    }
    return playHours()
  }

  private mutating func step() {
    switch Int.random(in: 0..<16, using: &phone.chance) {
    case 0..<3:
      let spans: [Int64] = [1, 9, 11, 30, 61, 600, 3_601, 86_400]
      phone.pass(.seconds(spans.randomElement(using: &phone.chance)!))
    case 3..<8: refreshPhone()
    case 8..<10: phone.useTokens()
    case 10: if !isInPhonesNetwork { phone.changeNetwork() }
    case 11: if !isInPhonesNetwork { phone.setClockBack() }
    case 12: if phone.hasUsed, let token = held.last { phone.useStolen(token) }
    default: poll()
    }
  }

  /// Sometimes the thief asks between the calls that the phone makes at once.
  private mutating func refreshPhone() {
    let (network, isElsewhere) = (network, !isInPhonesNetwork)
    var held = held
    phone.refresh { phone in
      guard isElsewhere, phone.happens(oneOf: 4),
        let token = held.randomElement(using: &phone.chance)
      else { return }
      if case .tokens(let place) = phone.ask(token, from: network) { held.append(place) }
    }
    self.held = held
  }

  private mutating func poll() {
    if isInPhonesNetwork { phone.pass(.seconds(15)) }
    let token = held.randomElement(using: &phone.chance)!
    if case .tokens(let place) = phone.ask(token, from: network) { held.append(place) }
    if isInPhonesNetwork { phone.pass(.seconds(15)) }
  }

  private var thiefIsIn: Bool {
    held.contains { phone.family.isGood($0, from: network, at: phone.now) }
  }

  private var phoneIsIn: Bool {
    phone.family.isGood(phone.stored, from: phone.network, at: phone.now)
  }

  private mutating func check() -> String? {
    let newest = phone.family.newest.generation
    defer { generation = newest }
    if !thiefIsIn || !phoneIsIn { rotations = 0 } else { rotations += newest - generation }
    return rotations > 2 ? "both are in after \(rotations) rotations" : nil
  }

  /// For ten hours, the thief refreshes half a minute before the phone, with a token that still works if
  /// he has one.
  private mutating func playHours() -> String? {
    phone.losesAnswers = false
    for _ in 0..<10 where !phone.family.hasEnded {
      phone.pass(.seconds(3570))
      let family = phone.family
      let (from, at) = (network, phone.now)
      let token = held.last { family.isGood($0, from: from, at: at) }
      if let token, case .tokens(let place) = phone.ask(token, from: network) {
        held.append(place)
      }
      phone.pass(.seconds(30))
      phone.refresh()
      phone.useTokens()
    }
    if let problem = phone.family.problem { return problem }
    return !phone.family.hasEnded && thiefIsIn && phoneIsIn ? "both stay" : nil
  }
}

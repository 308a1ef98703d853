import Base
import Support

@testable import Store

/// A random history of a phone's refreshes: requests and answers are lost, the app makes several calls at
/// once, the phone changes its network, hosts have different clocks.
///
/// The calls that the app makes at once arrive within ten seconds and from one network. The app waits for
/// their answers, or gives them up, before it calls again.
struct SimulatedRefreshes {
  var chance: SeededGenerator
  private(set) var family: SimulatedFamily
  /// Survives the end of the app.
  private(set) var stored = TokenPlace(generation: 1, branch: 0)
  /// The token that brought the stored ones, and when it was sent last.
  private var presented: (token: TokenPlace, sentAt: Duration)?
  private(set) var network = "192.0.2.0/24"
  /// Whether the app has used the stored tokens.
  private(set) var hasUsed = false
  /// The time that really passed.
  private var passed = Duration.zero
  private var instant = Timestamp(seconds: 1_800_000_000)
  /// Before this time, rows may have times in the future. Then one of several calls at once may be told to try
  /// later.
  private var setBackUntil = Timestamp(seconds: 0)
  /// The difference of the clock of the host that answers.
  private var skew = Duration.zero
  private(set) var problem: String?
  /// Whether answers and requests are lost.
  var losesAnswers = true
  private(set) var isExpired = false

  init(seed: UInt64) {
    chance = SeededGenerator(state: seed)
    family = SimulatedFamily(at: instant)
  }

  var now: Timestamp { instant + skew }

  mutating func pass(_ span: Duration) {
    passed += span
    instant = instant + span
  }

  mutating func setClockBack() {
    setBackUntil = max(setBackUntil, instant) + .seconds(4)
    instant = instant - .seconds(3600)
  }

  mutating func changeNetwork() {
    network = ["192.0.2.0/24", "198.51.100.0/24", "2001:db8:0:1::/64"]
      .randomElement(using: &chance)!
  }

  mutating func happens(oneOf count: Int) -> Bool { Int.random(in: 0..<count, using: &chance) == 0 }

  /// A step that involves the phone alone.
  mutating func step() {
    switch Int.random(in: 0..<12, using: &chance) {
    case 0, 1, 2:
      let spans: [Int64] = [1, 5, 11, 30, 59, 61, 600, 3_601, 86_400, 2_000_000]
      pass(.seconds(spans.randomElement(using: &chance)!))
    case 3, 4: useTokens()
    case 5: changeNetwork()
    case 6: repeatLate()
    default: refresh()
    }
  }

  mutating func useTokens() {
    hasUsed = true
    family.use(stored, at: now)
    noteEnd("by a use")
  }

  /// One to three calls at once. Between them, `meanwhile` happens.
  mutating func refresh(meanwhile: (inout SimulatedRefreshes) -> Void = { _ in }) {
    let token = stored
    var answers: [SimulatedFamily.Answer] = []
    for _ in 0..<Int.random(in: 1...3, using: &chance) {
      pass(.milliseconds(.random(in: 0...1500, using: &chance)))
      skew = .milliseconds(.random(in: -2000...2000, using: &chance))
      if losesAnswers, happens(oneOf: 6) { continue }  // the request is lost
      answers.append(ask(token))
      if Bool.random(using: &chance) { deliver(&answers, of: token) }
      meanwhile(&self)
    }
    deliver(&answers, of: token)
  }

  private mutating func ask(_ token: TokenPlace) -> SimulatedFamily.Answer {
    let answer = family.refresh(token, from: network, at: now)
    if answer == .dead, !family.hasEnded { isExpired = true }
    if answer == .tooLate, instant >= setBackUntil {
      problem = problem ?? "a call of several at once is refused"
    }
    noteEnd("by a refresh")
    return answer
  }

  /// Answers arrive or are lost. The tenth that is lost in a row is not.
  private mutating func deliver(
    _ answers: inout [SimulatedFamily.Answer], of token: TokenPlace
  ) {
    let mustArrive = !losesAnswers || family.newest.lateAnswers >= 10
    for answer in answers where mustArrive || !happens(oneOf: 3) {
      guard case .tokens(let place) = answer else { continue }
      if place != stored { hasUsed = false }
      (stored, presented) = (place, (token, passed))
      if Bool.random(using: &chance) { useTokens() }
    }
    answers = []
  }

  /// A request that was under way for up to 40 seconds arrives after its app has used the tokens that another
  /// one brought; later than that, the web server and the responder have given it up. The app does not wait
  /// for the answer.
  private mutating func repeatLate() {
    guard hasUsed, let presented, passed - presented.sentAt <= .seconds(40) else { return }
    if family.refresh(presented.token, from: network, at: now) == .dead, !family.hasEnded {
      isExpired = true
    }
    noteEnd("by a late request")
  }

  private mutating func noteEnd(_ cause: String) {
    problem = problem ?? family.problem
    if family.hasEnded { problem = problem ?? "signed out \(cause)" }
  }

  // The thief -----------------------------------------------------------------------------------------

  /// Another holder of a token asks. The phone notices nothing.
  mutating func ask(_ token: TokenPlace, from network: String) -> SimulatedFamily.Answer {
    family.refresh(token, from: network, at: now)
  }

  mutating func useStolen(_ token: TokenPlace) { family.use(token, at: now) }
}

import Base
import Support
import Testing

@testable import Store

/// Random histories of a phone's refreshes: requests and answers are lost or late, the app is killed, it sends
/// requests twice, and the server's clock jumps.
///
/// The verdicts are ``RefreshFamily``'s; the row follows them as the statements do, which `RefreshModelTests`
/// compares with the real answers.
@Suite struct RefreshSimulationTests {
  @Test func noHonestPhoneIsSignedOut() {
    #expect(play(hasThief: false) == [])
  }

  @Test func phoneAndThiefDoNotBothStay() {
    #expect(play(hasThief: true) == [])
  }

  private func play(hasThief: Bool) -> [String] {
    simulate(20_000) { seed in
      var history = RefreshHistory(seed: seed, hasThief: hasThief)
      return history.play()
    }
  }
}

/// The row of a family, changed as the statements change it.
private struct FamilyRow {
  private(set) var generation: Int64 = 1
  private(set) var isConfirmed = false
  private(set) var changedAt: Timestamp
  private(set) var expiresAt: Timestamp
  private(set) var hasEnded = false

  init(at now: Timestamp) {
    changedAt = now
    expiresAt = now + Session.idleLifetime
  }

  enum Answer: Equatable {
    case tokens(Int64)
    case tooLate
    case dead
  }

  func isAlive(at now: Timestamp) -> Bool { !hasEnded && expiresAt > now }

  mutating func refresh(_ presented: Int64, at now: Timestamp) -> Answer {
    let family = RefreshFamily(
      generation: generation, isConfirmed: isConfirmed, changedAt: changedAt,
      isAlive: isAlive(at: now))
    switch family.verdict(on: presented, at: now) {
    case .rotate:
      (generation, isConfirmed, changedAt) = (generation + 1, false, now)
      expiresAt = now + Session.idleLifetime
      return .tokens(generation)
    case .sameAgain: return .tokens(generation)
    case .tooLate: return .tooLate
    case .dead: return .dead
    case .reused:
      hasEnded = true
      return .dead
    }
  }

  /// Uses an access token of a generation.
  ///
  /// - Returns: whether it is good.
  mutating func use(_ presented: Int64, at now: Timestamp) -> Bool {
    guard isAlive(at: now) else { return false }
    if presented == generation, !isConfirmed { (isConfirmed, changedAt) = (true, now) }
    return true
  }
}

/// A client that stores tokens before it uses them.
private struct Client {
  /// Survives the end of the app.
  var stored: Int64
  var isOut = false

  init(_ generation: Int64) {
    stored = generation
  }
}

private struct RefreshHistory {
  /// A request on its way, or its answer.
  private struct Message {
    let client: Int
    let presented: Int64
    var answer: FamilyRow.Answer?
    let sentAt: Timestamp
  }

  private var chance: SeededGenerator
  private var now = Timestamp(seconds: 1_800_000_000)
  /// The difference of the server's clock.
  private var skew = Duration.zero
  private var row: FamilyRow
  private var clients: [Client]
  private var messages: [Message] = []
  private let hasThief: Bool
  private var problem: String?

  /// No request is answered later than this: the web server and the responder give it up before.
  private static let longestWay = Duration.seconds(40)

  init(seed: UInt64, hasThief: Bool) {
    chance = SeededGenerator(state: seed)
    self.hasThief = hasThief
    row = FamilyRow(at: now)
    clients = [Client(1)]
  }

  /// - Returns: the first problem.
  mutating func play() -> String? {
    for number in 0..<Int.random(in: 10...80, using: &chance) {
      if hasThief, clients.count == 1, number > 5 {
        clients.append(Client(clients[0].stored))
      }
      step()
      if let problem { return "\(problem) at step \(number)" }
      if !hasThief, row.hasEnded { return "signed out at step \(number)" }
      // Unused for 30 days.
      if !hasThief, clients[0].isOut { return nil }
    }
    return hasThief ? bothStay() : nil
  }

  private var serverNow: Timestamp { now + skew }

  private mutating func step() {
    let client = Int.random(in: 0..<clients.count, using: &chance)
    messages.removeAll { now - $0.sentAt > Self.longestWay }
    switch Int.random(in: 0..<12, using: &chance) {
    case 0, 1:
      let spans = [1, 5, 11, 30, 59, 61, 600, 3_601, 86_400, 2_000_000]
      now = now + .seconds(spans.randomElement(using: &chance)!)
    case 2 where !hasThief: skew = .seconds(.random(in: -5...5, using: &chance))
    case 3, 4: _ = row.use(clients[client].stored, at: serverNow)
    case 5, 6, 7: send(from: client)
    case 8: if !messages.isEmpty { messages.remove(at: pick()) }  // lost, or its app was killed
    default: if !messages.isEmpty { pass(pick()) }
    }
  }

  private mutating func pick() -> Int { Int.random(in: 0..<messages.count, using: &chance) }

  /// Sends a refresh, sometimes twice.
  private mutating func send(from client: Int) {
    if clients[client].isOut { return }
    for _ in 0..<Int.random(in: 1...2, using: &chance) {
      messages.append(Message(client: client, presented: clients[client].stored, sentAt: now))
    }
  }

  /// Brings a request to the server, or an answer to its client.
  private mutating func pass(_ index: Int) {
    guard let answer = messages[index].answer else {
      let isAlive = row.isAlive(at: serverNow)
      let answer = row.refresh(messages[index].presented, at: serverNow)
      if !isAlive, answer != .dead { problem = "an ended family is refreshed" }
      if isAlive, answer == .dead, !row.hasEnded { problem = "a living family is refused" }
      messages[index].answer = answer
      return
    }
    let message = messages.remove(at: index)
    switch answer {
    case .tokens(let generation):
      clients[message.client].stored = max(generation, clients[message.client].stored)
    case .tooLate: break  // it tries again later
    case .dead: clients[message.client].isOut = true
    }
  }

  /// Lets both refresh again and again, two minutes apart.
  private mutating func bothStay() -> String? {
    messages = []
    for _ in 0..<4 {
      for client in clients.indices {
        now = now + .seconds(120)
        send(from: client)
        while !messages.isEmpty { pass(0) }
        if !clients[client].isOut { _ = row.use(clients[client].stored, at: serverNow) }
      }
    }
    return clients.contains(where: \.isOut) ? nil : "both stay: \(clients)"
  }
}

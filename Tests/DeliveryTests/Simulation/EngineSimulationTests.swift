import Delivery
import Support
import Testing

/// Random histories of notifications on their way to Apple, over as many connections as they need.
///
/// The clock and the network are simulated: octets wait in both directions, in pieces, and are lost with their
/// connection.
@Suite struct EngineSimulationTests {
  @Test func noNotificationIsLostOrGetsAnOutcomeThatIsNotTrue() {
    let problems = simulate(2_000) { seed in
      var history = EngineHistory(seed: seed)
      return history.play()
    }
    #expect(problems == [])
  }
}

private struct EngineHistory {
  private var chance: SeededGenerator
  private var now = ContinuousClock.now
  /// Numbers of the notifications that are to be sent.
  private var pending: [Int]
  private var done: Set<Int> = []
  private var connections = 0

  init(seed: UInt64) {
    chance = SeededGenerator(state: seed)
    pending = Array(0..<Int.random(in: 1...16, using: &chance))
  }

  /// - Returns: the first problem.
  mutating func play() -> String? {
    let count = pending.count
    while !pending.isEmpty {
      connections += 1
      if connections > 2_000 { return "\(pending) are sent again and again" }
      var line = SimulatedLine(at: now, &chance)
      if let problem = use(&line) { return "connection \(connections): \(problem)" }
    }
    return done.count == count ? nil : "only \(done.sorted()) of \(count) arrived"
  }

  /// Sends over one connection until it ends.
  private mutating func use(_ line: inout SimulatedLine) -> String? {
    let steps = Int.random(in: 5...200, using: &chance)
    for _ in 0..<steps where !line.isOver {
      switch Int.random(in: 0..<10, using: &chance) {
      case 0...2:
        while !pending.isEmpty, line.submit(pending.last!, at: now) { pending.removeLast() }
      case 3, 4: line.passToServer(&chance)
      case 5, 6: line.passToClient(at: now, &chance)
      case 7, 8: line.server.act(&chance)
      default: advance(&line)
      }
      if let problem = take(line.takeResults()) ?? line.problem { return problem }
      if pending.isEmpty, line.engine.inFlight == 0 { break }
    }
    if Bool.random(using: &chance) { line.engine.close(reason: "the end") }
    line.engine.markFailed("lost")
    if let problem = take(line.takeResults()) { return problem }
    return line.problem ?? (line.submitted.isEmpty ? nil : "\(line.submitted) have no outcome")
  }

  private mutating func advance(_ line: inout SimulatedLine) {
    let spans = [1, 20, 300, 2_000, 5_000, 16_000]
    now += .milliseconds(spans.randomElement(using: &chance)!)
    if line.engine.nextTick <= now { line.engine.tick(now) }
  }

  /// Sends those again that may not have arrived.
  private mutating func take(_ results: [SimulatedLine.Result]) -> String? {
    for result in results {
      let number = result.number
      switch (result.outcome, result.decision) {
      case (.accepted, .accepted), (.rejected(status: 400, reason: _), .rejected(400)):
        guard done.insert(number).inserted else { return "\(number) has two outcomes" }
      case (.notProcessed, nil): pending.append(number)
      case (.unanswered, _) where !result.isAnswered: pending.append(number)
      default:
        return "\(number): \(result.outcome), but it was \(String(describing: result.decision))"
          + (result.isAnswered ? ", and its answer had arrived" : "")
      }
    }
    return nil
  }
}

/// An engine, its server, and the octets between them.
private struct SimulatedLine {
  struct Result {
    let number: Int
    let outcome: APNsOutcome
    /// The server's decision about the request; nil: not processed.
    let decision: SimulatedApple.Decision?
    /// Whether the whole answer had reached the engine in time.
    let isAnswered: Bool
  }

  let engine: APNsEngine
  var server: SimulatedApple
  /// Notifications without an outcome, by id.
  private(set) var submitted: [String: Int] = [:]
  private var streams: [String: UInt32] = [:]
  private var toServer: [UInt8] = []
  private var toClient: [UInt8] = []
  /// Octets that the engine has read.
  private var readCount = 0
  private var nextStream: UInt32 = 1

  init(at now: ContinuousClock.Instant, _ chance: inout SeededGenerator) {
    var limits = APNsEngine.Limits()
    limits.window = .random(in: 1...8, using: &chance)
    engine = APNsEngine(
      authority: "localhost", providerToken: "token", limits: limits, now: now)
    server = SimulatedApple(maximumStreams: .random(in: 0...10, using: &chance))
  }

  var isOver: Bool { if case .failed = engine.state { true } else { false } }

  var problem: String? { server.complaint }

  /// - Returns: false if the engine takes no more now.
  mutating func submit(_ number: Int, at now: ContinuousClock.Instant) -> Bool {
    guard engine.capacity > 0 else { return false }
    let new = notification(number)
    submitted[new.id] = number
    streams[new.id] = nextStream
    nextStream += 2
    engine.submit(new, at: now)
    return true
  }

  mutating func passToServer(_ chance: inout SeededGenerator) {
    engine.drain(into: &toServer)
    server.receive(take(&toServer, &chance))
  }

  mutating func passToClient(at now: ContinuousClock.Instant, _ chance: inout SeededGenerator) {
    toClient += server.takeOutput()
    let bytes = take(&toClient, &chance)
    if bytes.isEmpty { return }
    readCount += bytes.count
    bytes.withUnsafeBytes { engine.feed($0, at: now) }
  }

  private func take(_ queue: inout [UInt8], _ chance: inout SeededGenerator) -> [UInt8] {
    let isAll = Int.random(in: 0..<4, using: &chance) > 0
    let count = isAll ? queue.count : Int.random(in: 0...queue.count, using: &chance)
    defer { queue.removeFirst(count) }
    return Array(queue.prefix(count))
  }

  mutating func takeResults() -> [Result] {
    engine.takeResults().map { result in
      let id = result.notification.id
      let stream = streams[id]!
      return Result(
        number: submitted.removeValue(forKey: id) ?? -1, outcome: result.outcome,
        decision: server.decisions[stream],
        isAnswered: server.ends[stream].map { $0 <= readCount } ?? false)
    }
  }
}

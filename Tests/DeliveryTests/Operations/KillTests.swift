import Cryptography
import Foundation
import MariaDB
import ProcessSupport
import SharedSettings
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// Kills the companion's program at any point: no turn is lost, and none shows twice.
///
/// `SWITCHBOARD_ROUNDS` sets the number of rounds.
@Suite(.serialized) struct KillTests {
  @Test func killedAtAnyMomentItLosesAndRepeatsNothing() throws {
    try withTurns { turns throws in
      let pass = try turns.measure()
      for _ in 1...rounds(default: 10) {
        turns.move()
        try turns.run(killedAfter: pass * Double.random(in: 0...1))
        try turns.recover()
      }
    }
  }

  /// Kills it at each of its commands: once before the server gets the command, once after its
  /// execution.
  @Test func killedAtEachOfItsStatementsItLosesAndRepeatsNothing() throws {
    try withTurns { turns throws in
      let total = try turns.countCommands()
      #expect(total > 50)
      print("a pass has \(total) commands")
      let step = max(1, 2 * total / rounds(default: 20))
      for number in stride(from: 0, to: 2 * total, by: step) {
        turns.move()
        try turns.run(killedAtCommand: number / 2 + 1, isExecuted: number % 2 == 1)
        try turns.recover()
      }
    }
  }

  /// Runs overlap, for example a run of the timer and a run of the wake socket, and one is killed.
  @Test func killedBesideAnotherItLosesAndRepeatsNothing() throws {
    try withTurns { turns throws in
      let pass = try turns.measure()
      for _ in 1...rounds(default: 5) {
        turns.move()
        let other = try turns.start()
        try turns.run(killedAfter: pass * Double.random(in: 0...1))
        other.process.waitUntilExit()
        try turns.recover()
      }
    }
  }

  @Test func whileTheDatabaseDiesAgainAndAgainItLosesAndRepeatsNothing() throws {
    try withTurns(onItsOwnServer: true) { turns throws in
      let pass = try turns.measure()
      for _ in 1...rounds(default: 5) {
        turns.move()
        try turns.run(databaseKilledAfter: pass * Double.random(in: 0...1))
        try turns.recover()
      }
    }
  }
}

/// Users with two devices each, and one game each with move after move.
final class TestTurns {
  static let users: ClosedRange<Int64> = 1...6
  private let delivery: TestDelivery
  private let site: FakeOGS
  private let fake: FakeAPNs
  private(set) var moves = 0

  fileprivate init(_ delivery: TestDelivery, _ site: FakeOGS, _ fake: FakeAPNs) throws {
    self.delivery = delivery
    self.site = site
    self.fake = fake
    for user in Self.users {
      for device in 1...2 {
        let token = try #require(DeviceToken(hexEncoded(sha256("\(user) \(device)"))))
        try delivery.responder().turnRegistrations.add(TurnDevice(token), of: user)
      }
    }
  }

  /// Makes a move of each user's opponent, so that it is the user's turn.
  func move() {
    moves += 1
    for user in Self.users {
      let game = FakeGame(
        id: Int(user), name: "move \(moves)", player: "\(user)", lastMove: "\(1000 + moves)")
      site.answer(user, .body(full([game])))
    }
    delivery.letLeasesEnd()
  }

  func start(through settings: ConnectionSettings? = nil) throws -> RunningCompanion {
    var changes = try fake.environment()
    changes["SWITCHBOARD_SUBSTITUTES", default: ""] += ",ogs=\(site.url)"
    changes["OGS_REQUESTS_PER_SECOND"] = "1000"
    changes["SWITCHBOARD_ADMINISTRATOR"] = "admin@example.org"
    if let settings { changes["SWITCHBOARD_DB_SOCKET"] = settings.socket }
    return try RunningCompanion(delivery, "run", changing: changes)
  }

  /// The duration of a pass that notifies all users of a move.
  func measure() throws -> Duration {
    move()
    let start = ContinuousClock.now
    try self.start().end(expecting: 0)
    let time = ContinuousClock.now - start
    try recover()
    return time
  }

  func run(killedAfter time: Duration) throws {
    let companion = try start()
    usleep(UInt32(time / .microseconds(1)))
    companion.end()
  }

  /// Kills the database during a pass and restarts it at once.
  func run(databaseKilledAfter time: Duration) throws {
    let companion = try start()
    usleep(UInt32(time / .microseconds(1)))
    delivery.server.kill()
    delivery.server.start()
    companion.process.waitUntilExit()
    #expect(companion.process.terminationReason == .exit)
  }

  /// The number of the database's commands in a pass that notifies all users of a move.
  func countCommands() throws -> Int {
    let count = Atomic(0)
    let proxy = MariaDBProxy(delivery.account(of: "companion")) { _ in
      count.add(1, ordering: .relaxed)
      return .pass
    }
    move()
    try start(through: proxy.settings).end(expecting: 0)
    try recover()
    return count.load(ordering: .relaxed)
  }

  /// - Parameter isExecuted: whether the server still gets the command at which the program is
  ///   killed.
  func run(killedAtCommand last: Int, isExecuted: Bool) throws {
    let count = Atomic(0)
    let pid = Mutex<pid_t?>(nil)
    let proxy = MariaDBProxy(delivery.account(of: "companion")) { _ in
      let number = count.add(1, ordering: .relaxed).newValue
      guard number == last else { return number < last ? .pass : .cutBefore }
      wait(for: "the process id") { pid.withLock { $0 != nil } }
      kill(pid.withLock { $0! }, SIGKILL)
      return isExecuted ? .cutAfter : .cutBefore
    }
    let companion = try start(through: proxy.settings)
    pid.withLock { $0 = companion.process.processIdentifier }
    companion.process.waitUntilExit()
    // The number of commands varies, so the last commands may not occur.
    #expect(
      companion.process.terminationReason == .uncaughtSignal
        || companion.process.terminationStatus == 0, "\(companion.log)")
  }

  /// Frees the leases of the killed run, runs until no delivery is open, and checks everything.
  func recover() throws {
    for _ in 1...4 {
      delivery.letLeasesEnd()
      let companion = try start()
      companion.process.waitUntilExit()
      #expect(companion.process.terminationStatus == 0, "\(companion.log)")
      if delivery.sql("SELECT 1 FROM deliveries WHERE state = 'open' LIMIT 1") == "",
        delivery.sql("SELECT COUNT(*) FROM notifications") == "\(moves * Self.users.count)"
      {
        break
      }
    }
    let users = Self.users.count
    #expect(delivery.sql("SELECT COUNT(*) FROM notifications") == "\(moves * users)")
    #expect(
      delivery.sql("SELECT CONCAT_WS(' ', state, COUNT(*)) FROM deliveries GROUP BY state")
        == "delivered \(2 * moves * users)")
    #expect(
      delivery.sql("SELECT COUNT(*) FROM ogs_games WHERE notified_move = \(1000 + moves)")
        == "\(users)")
  }

  /// Checks Apple's record: every turn reached each device, with one id and one collapse id; the
  /// devices show only the last turn.
  fileprivate static func look(_ fake: FakeAPNs, _ turns: TestTurns) throws {
    struct Turn: Hashable {
      let token: String
      let payload: String
    }
    let received = try fake.received()
    let delivered = Dictionary(grouping: received.filter { $0.status == 200 }) {
      Turn(token: $0.token, payload: $0.payload)
    }
    #expect(delivered.count == 2 * turns.moves * users.count)
    for same in delivered.values {
      #expect(Set(same.map(\.id)).count == 1)
      #expect(Set(same.map(\.collapseID)).count == 1)
    }
    #expect(Set(received.map(\.providerTokenHash)).count == 1)
    let visible = try fake.visible()
    #expect(visible.count == 2 * users.count)
    for shown in visible.values {
      #expect(shown.count == 1)
      #expect(shown.values.allSatisfy { $0.contains("move \(turns.moves)\"") })
    }
    print(
      "\(turns.moves) moves of \(users.count) users to 2 devices each:",
      "\(received.count) requests, \(received.count - delivered.count) of them sent again")
  }
}

private func withTurns(
  onItsOwnServer hasOwnServer: Bool = false, _ body: (TestTurns) throws -> Void
) throws {
  func run(_ delivery: TestDelivery) throws {
    let site = try #require(FakeOGS())
    defer { site.end() }
    try withAPNs { fake throws in
      let turns = try TestTurns(delivery, site, fake)
      try body(turns)
      return turns
    } thenLook: {
      try TestTurns.look($0, $1)
    }
  }
  if hasOwnServer { try withDeliveryOnItsOwnServer(run) } else { try withDelivery(run) }
}

extension RunningCompanion {
  /// Waits for the program's end.
  func end(expecting status: Int32) throws {
    wait(for: "the end of the companion") { !process.isRunning }
    process.waitUntilExit()
    try #require(
      process.terminationReason == .exit && process.terminationStatus == status, "\(log)")
  }
}

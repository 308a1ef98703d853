import Base
import Cryptography
import Foundation
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import Delivery

/// Players move, and phones show it, through outages of Apple, of online-go.com and of MariaDB, and
/// through kills.
///
/// A round is a poll of all users, which takes place every five minutes. `SWITCHBOARD_ROUNDS=2016`
/// is a whole week of 200 players.
@Suite(.serialized) struct WeekTests {
  @Test func phonesShowTheGamesThatWait() throws {
    let count = rounds(default: 24)
    // Here all notifications of a week are from the last two days, and each poll searches those for
    // withdrawals.
    try withDeliveryOnItsOwnServer(options: ["--innodb-buffer-pool-size=512M"]) { delivery throws in
      let site = try #require(FakeOGS())
      defer { site.end() }
      try withAPNs { fake throws in
        let week = try Week(delivery, site, fake, players: count > 1000 ? 200 : 30)
        for _ in 1...count { try week.round() }
        week.report()
      }
    }
  }
}

/// A move after which a game waits for a player.
private struct Wait: Hashable {
  let user: Int64
  let game: Int64
  let move: Int64
}

/// A notification. A later one with the same collapse id replaces it.
private struct Told: Hashable {
  let id: String
  let collapseID: String
}

/// The content that a phone has shown so far.
private struct Phone {
  var badge: Int64 = 0
  /// The notifications of each move; each has another collapse id or another id.
  var told: [Wait: Set<Told>] = [:]
}

private struct FakeBoard {
  let id: Int64
  /// The second player may be a stranger without a phone in this test.
  let players: [Int64]
  var next = 0
  var lastMove: Int64
  var isPaused = false

  func json() -> FakeGame {
    FakeGame(
      id: Int(id), name: "game \(id)", player: "\(players[next])", lastMove: "\(lastMove)",
      more: isPaused ? #","pause_control":{"weekend":true}"# : "")
  }
}

private final class Week {
  private enum Fault: CaseIterable { case apple, onlineGo, database, kill }

  private let delivery: TestDelivery
  private let site: FakeOGS
  private let fake: FakeAPNs
  private let users: [Int64]
  /// The first two users share a phone; the third has three phones.
  private let tokens: [Int64: [String]]
  private var random = SeededGenerator(state: 20_261_122)
  private var boards: [FakeBoard] = []
  private var clock: Int64 = 1_000_000
  private var nextID: Int64 = 1
  private var fault: Fault?
  private var faultRounds = 0
  /// The number of successive rounds without a fault.
  private var goodRounds = 0
  /// The waiting turns in each round since the second-last round that polled all users.
  private var history: [Set<Wait>] = []
  private var phones: [String: Phone] = [:]
  /// The number of bytes read from Apple's record.
  private var readBytes: UInt64 = 0
  private var counts: [String: Int] = [:]

  init(
    _ delivery: TestDelivery, _ site: FakeOGS, _ fake: FakeAPNs, players: Int64
  ) throws {
    (self.delivery, self.site, self.fake) = (delivery, site, fake)
    users = Array(1...players)
    func token(_ number: Int64) -> String { hexEncoded(sha256("phone \(number)")) }
    tokens = Dictionary(
      uniqueKeysWithValues: users.map { user in
        switch user {
        case 1, 2: (user, [token(1)])
        case 3: (user, [token(3), token(1003), token(2003)])
        default: (user, [token(user)])
        }
      })
    for user in users {
      for token in tokens[user]! {
        try delivery.responder().turnRegistrations.add(
          TurnDevice(try #require(DeviceToken(token))), of: user)
        phones[token] = Phone()
      }
      for _ in 0..<Int.random(in: 0...4, using: &random) { begin(by: user) }
    }
  }

  private func begin(by user: Int64) {
    let isAgainstStranger = Bool.random(using: &random)
    let other = isAgainstStranger ? 1_000_000 + nextID : users.randomElement(using: &random)!
    guard other != user else { return }
    boards.append(
      FakeBoard(
        id: nextID, players: [user, other], next: Int.random(in: 0...1, using: &random),
        lastMove: tick()))
    nextID += 1
  }

  private func tick() -> Int64 {
    clock += Int64.random(in: 1...1000, using: &random)
    return clock
  }

  /// Moves, ends and new games of five minutes.
  private func play() {
    for index in boards.indices {
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<25:
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          boards[index].next = 1 - boards[index].next
          boards[index].lastMove = tick()
        }
      case 25: boards[index].isPaused.toggle()
      default: break
      }
    }
    boards.removeAll { _ in Int.random(in: 0..<100, using: &random) < 2 }
    for user in users where Int.random(in: 0..<100, using: &random) < 4 { begin(by: user) }
    let games = Dictionary(
      grouping: boards.flatMap { board in board.players.map { (user: $0, board: board) } },
      by: \.user)
    for user in users {
      let mine = (games[user] ?? []).map { $0.board.json() }
      site.answer(
        user, fault == .onlineGo ? .status(503) : .body(full(mine, of: user)))
    }
  }

  private var waiting: Set<Wait> {
    let all = boards.filter { !$0.isPaused }.map {
      Wait(user: $0.players[$0.next], game: $0.id, move: $0.lastMove)
    }
    return Set(all.filter { tokens[$0.user] != nil })
  }

  func round() throws {
    chooseFault()
    play()
    let wasPolled = fault != .onlineGo && fault != .kill && fault != .database
    history.append(waiting)
    fiveMinutesPass()
    try pass()
    goodRounds = fault == nil ? goodRounds + 1 : 0
    try look()
    if wasPolled, history.count > 2 { history.removeFirst(history.count - 2) }
  }

  private func chooseFault() {
    if faultRounds > 0 {
      faultRounds -= 1
    } else if Int.random(in: 0..<100, using: &random) < 12 {
      fault = Fault.allCases.randomElement(using: &random)
      faultRounds = Int.random(in: 0...2, using: &random)
      counts["outages", default: 0] += 1
    } else {
      fault = nil
    }
  }

  /// Ends all waiting times.
  private func fiveMinutesPass() {
    delivery.letLeasesEnd()
    delivery.sql(
      """
      UPDATE ogs_users SET failures = 0;
      UPDATE ogs_pause SET paused_until = NULL, refused_users = '[]', pauses = 0;
      UPDATE ogs_devices SET badge_at = badge_at - INTERVAL 5 MINUTE
      """)
  }

  private func pass() throws {
    let polling = PollSettings(
      baseURL: site.url, contact: "admin@example.org", requestsPerSecond: 1000,
      pace: PollPace(interval: .seconds(300)), prefix: "")
    switch fault {
    case .kill:
      let companion = try program()
      usleep(UInt32.random(in: 50_000...1_500_000, using: &random))
      companion.end()
    case .database:
      let companion = try program()
      usleep(UInt32.random(in: 50_000...1_500_000, using: &random))
      delivery.server.kill()
      delivery.server.start()
      companion.process.waitUntilExit()
    case .apple:
      let settings = try fake.settings(endpoint: APNsEndpoint(host: "localhost", port: 9))
      try? Companion(
        database: Database(delivery.account(of: "companion")),
        settings: companionSettings(polling, settings), log: Evidence.log(of: "week")
      ).pass()  // the outage is a problem
    case .onlineGo, nil:
      try Companion(
        database: Database(delivery.account(of: "companion")),
        settings: companionSettings(polling, try fake.settings()), log: Evidence.log(of: "week")
      ).pass()
    }
  }

  private func companionSettings(_ polling: PollSettings, _ apns: APNsSettings) -> Settings {
    Settings(
      keys: TestDelivery.keys, mailer: nil, sender: "switchboard@example.org",
      auditLifetime: .seconds(365 * 86_400), interval: .seconds(300), polling: polling,
      apns: [apns],
      clock: .still)
  }

  private func program() throws -> RunningCompanion {
    var changes = try fake.environment()
    changes["SWITCHBOARD_SUBSTITUTES", default: ""] += ",ogs=\(site.url)"
    changes["OGS_REQUESTS_PER_SECOND"] = "1000"
    changes["SWITCHBOARD_ADMINISTRATOR"] = "admin@example.org"
    return try RunningCompanion(delivery, "run", changing: changes)
  }
}

extension Week {
  /// Checks the phones' current content.
  private func look() throws {
    try receive()
    let now = history.last!
    // By now the phones show everything that has not changed since the previous poll.
    guard goodRounds >= 2, history.count >= 2 else { return }
    let before = history[history.count - 2]
    for (token, phone) in phones {
      let mine = users.filter { tokens[$0]!.contains(token) }
      func waits(_ all: Set<Wait>) -> Set<Wait> { all.filter { mine.contains($0.user) } }
      let games = Set(waits(now).map(\.game))
      if waits(now) == waits(before) {
        counts["badges compared", default: 0] += 1
        #expect(phone.badge == Int64(games.count), "badge of \(mine)")
      }
      for wait in waits(now).intersection(before) {
        counts["waits compared", default: 0] += 1
        #expect(phone.told[wait] != nil, "lost: \(wait)")
      }
    }
  }

  /// Reads Apple's new notifications since the last round.
  private func receive() throws {
    let new = try fake.received(after: &readBytes).filter { $0.status == 200 }
    let games = games(of: new.map(\.id))
    let known = history.reduce(into: Set<Wait>()) { $0.formUnion($1) }
    for notification in new {
      struct Payload: Decodable {
        struct APS: Decodable {
          let alert: String?
          let badge: Int64
          let sound: String?
        }
        let aps: APS
        let userID: String?

        private enum CodingKeys: String, CodingKey {
          case aps
          case userID = "user_id"
        }
      }
      let payload = try JSONDecoder().decode(Payload.self, from: Data(notification.payload.utf8))
      phones[notification.token]!.badge = payload.aps.badge
      guard payload.aps.alert != nil else {
        #expect(payload.aps.sound == nil && notification.priority == "5")
        counts["badges alone", default: 0] += 1
        continue
      }
      counts["alerts", default: 0] += 1
      let user = try #require(payload.userID.flatMap { Int64($0) })
      for told in games[notification.id] ?? [] {
        let wait = Wait(user: user, game: told.game, move: told.move)
        let isTrue = known.contains(wait)
        #expect(isTrue, "stale: \(wait)")
        let before = phones[notification.token]!.told[wait, default: []].filter {
          $0.id != notification.id
        }
        phones[notification.token]!.told[wait, default: []].insert(
          Told(id: notification.id, collapseID: notification.collapseID))
        // A repetition of what a killed program sent but did not record replaces it on the phone
        // too.
        #expect(
          before.allSatisfy { $0.collapseID == notification.collapseID && wasLost($0.id) },
          "doubled: \(wait)")
      }
    }
  }

  /// The games in each delivery, by the delivery's id.
  private func games(of ids: [String]) -> [String: [(game: Int64, move: Int64)]] {
    if ids.isEmpty { return [:] }
    let list = ids.map { "'\($0)'" }.joined(separator: ",")
    let rows = delivery.sql(
      """
      SELECT d.id, g.id, g.move
      FROM deliveries d JOIN turn_notices t ON t.notification_id = d.notification_id
      JOIN JSON_TABLE(t.games, '$[*]' COLUMNS (id BIGINT PATH '$[0]', move BIGINT PATH '$[1]')) AS g
      WHERE d.id IN (\(list))
      """
    ).split(separator: "\n").map { $0.split(separator: "\t") }
    return Dictionary(grouping: rows) { String($0[0]) }
      .mapValues { $0.map { (game: Int64($0[1])!, move: Int64($0[2])!) } }
  }

  private func wasLost(_ id: String) -> Bool {
    counts["replaced after a kill", default: 0] += 1
    return delivery.sql("SELECT losses > 0 FROM deliveries WHERE id = '\(id)'") == "1"
  }

  func report() {
    #expect(counts["alerts", default: 0] > 0 && counts["badges alone", default: 0] > 0)
    #expect(counts["badges compared", default: 0] > 0 && counts["waits compared", default: 0] > 0)
    print(
      "\(users.count) players:",
      counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", "))
  }
}

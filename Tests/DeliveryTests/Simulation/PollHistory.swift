import Base
import MariaDB
import Store
import Support
import Testing

@testable import Delivery

/// A random history of polls: three workers that are killed at any step, users whose opponents move, a server that
/// refuses, and a clock that moves on.
///
/// The statements are those of the companion. The times in the rows move, not the database's clock.
final class PollHistory {
  private struct Claim {
    let user: ClaimedUser
    /// The time until which nobody else may have it.
    let end: Duration
  }

  static let users: ClosedRange<Int64> = 1...20

  private let root: Connection
  private let polls: Polls
  private var chance: SeededGenerator
  private var time = Duration.zero
  /// The last move of each user's game.
  private var moves: [Int64: Int64] = [:]
  private var polledAt: [Int64: Duration] = [:]
  private var claims: [Int64: Claim] = [:]
  /// Users that each worker has claimed and not finished.
  private var work: [Int: [ClaimedUser]] = [:]
  private var workers = [1, 2, 3]
  private var nextWorker = 4
  private var refused: Set<Int64> = []
  private var pausedUntil = Duration.zero
  private var isCalm = false
  private var problem: String?

  /// - Parameter settings: those of a ``StillDatabase``.
  init(_ delivery: TestDelivery, through settings: ConnectionSettings, seed: UInt64) throws {
    root = try Connection(delivery.root)
    polls = Database(settings).records(at: .now(), from: .companion).polls
    chance = SeededGenerator(state: seed)
    _ = try root.execute("DELETE FROM notifications")
    _ = try root.execute("DELETE FROM ogs_users")
    _ = try root.execute(
      "UPDATE ogs_pause SET refused_users = '[]', pauses = 0, paused_until = NULL WHERE id = 1")
    _ = try root.execute(
      """
      INSERT INTO ogs_users (id, due_at, moved_at)
      SELECT seq, TIMESTAMP'2030-01-01 00:00:00', TIMESTAMP'2030-01-01 00:00:00' FROM seq_1_to_20
      """)
    _ = try root.execute(
      """
      INSERT INTO ogs_registrations (ogs_user_id, device_token, registered_at)
      SELECT seq, SHA2(seq, 256), '2029-12-31' FROM seq_1_to_20
      """)
    for user in Self.users { moves[user] = 1000 }
  }

  /// - Returns: the first problem.
  func play() throws -> String? {
    for _ in 0..<120 where problem == nil { try step() }
    isCalm = true
    work = [:]
    workers = [0]
    for _ in 0..<20 where problem == nil {
      while try advance(0) && problem == nil {}
      try pass(.seconds(60))
    }
    return try problem ?? look()
  }

  private func step() throws {
    let worker = workers.randomElement(using: &chance)!
    switch Int.random(in: 0..<20, using: &chance) {
    case 0:  // killed
      work[worker] = nil
      workers.removeAll { $0 == worker }
      workers.append(nextWorker)
      nextWorker += 1
    case 1, 2:  // stopped in order
      try polls.release(work[worker] ?? [])
      for user in work[worker] ?? [] where isHeld(user) { claims[user.id] = nil }
      work[worker] = nil
    case 3: try pass(.seconds(.random(in: 1...40, using: &chance)))
    case 4, 5: try pass(.seconds(.random(in: 100...400, using: &chance)))
    case 6, 7: moves[.random(in: Self.users, using: &chance)]! += 1
    default: try advance(worker)
    }
  }

  private func pass(_ span: Duration) throws {
    time += span
    let span = Parameter.integer(span.milliseconds * 1000)
    _ = try root.execute(
      """
      UPDATE ogs_users
      SET due_at = due_at - INTERVAL ? MICROSECOND, moved_at = moved_at - INTERVAL ? MICROSECOND,
        checked_at = checked_at - INTERVAL ? MICROSECOND
      """,
      [span, span, span])
    _ = try root.execute(
      "UPDATE ogs_pause SET paused_until = paused_until - INTERVAL ? MICROSECOND", [span])
  }

  /// Lets a worker claim users, or finish the next one.
  ///
  /// - Returns: false if no user is due.
  @discardableResult
  private func advance(_ worker: Int) throws -> Bool {
    guard let user = work[worker]?.popLast() else {
      let claimed = try polls.claim(limit: 4, as: newClaimID())
      if !claimed.isEmpty, pausedUntil > time { problem = "polls are not paused" }
      for user in claimed {
        if let other = claims[user.id], other.end > time {
          problem = "\(user.id) is claimed twice"
        }
        claims[user.id] = Claim(user: user, end: time + .seconds(120))
      }
      work[worker] = claimed
      return !claimed.isEmpty
    }
    let isHeld = isHeld(user)
    let isWritten = try finish(user)
    if isWritten != isHeld { problem = "\(user.id): written \(isWritten), held \(isHeld)" }
    guard isWritten else { return true }
    claims[user.id] = nil
    polledAt[user.id] = time
    // As the sender does.
    _ = try root.execute(
      "UPDATE deliveries SET state = 'delivered', finished_at = TIMESTAMP'2030-01-01 00:00:00' WHERE state = 'open'"
    )
    return true
  }

  /// Whether the claim is the user's last one.
  private func isHeld(_ user: ClaimedUser) -> Bool {
    claims[user.id]?.user.claimID == user.claimID
  }

  private func finish(_ user: ClaimedUser) throws -> Bool {
    let pace = PollPace(interval: .seconds(30))
    switch isCalm ? 9 : Int.random(in: 0..<10, using: &chance) {
    case 0, 1, 2:
      let record = try polls.recordFailure(
        .refused(reason: "503", retryAfter: nil), of: user, pace: pace)
      if case .lost = record { return false }
      refused.insert(user.id)
      let isPaused = if case .allPaused = record { true } else { false }
      if isPaused != (refused.count >= 3) { problem = "paused \(isPaused) after \(refused)" }
      if isPaused { pausedUntil = max(pausedUntil, time + .seconds(10)) }
      return true
    case 3:
      let record = try polls.recordFailure(.unreadable(reason: "no JSON"), of: user, pace: pace)
      if case .lost = record { return false }
      return true
    default:
      let game = TurnGame(
        id: user.id, name: "\(user.id): \(moves[user.id]!)", lastMove: moves[user.id]!,
        currentPlayer: user.id, isRunning: true)
      let turns = try polls.recordGames(
        SeenGames(games: [game], unreadable: [], isWhole: true), entityTag: nil, of: user,
        pace: pace, prefix: "")
      if turns != nil { (refused, pausedUntil) = ([], .zero) }
      return turns != nil
    }
  }

  /// Every user was polled, and told once of each turn, of the last one too.
  private func look() throws -> String? {
    let told = try root.rows(
      "SELECT body FROM notifications WHERE kind = 'turn' AND body IS NOT NULL"
    ) {
      row in row.text(0)
    }
    if Set(told).count < told.count { return "a turn is told twice: \(told)" }
    let marks = try root.rows("SELECT ogs_user_id, notified_move FROM ogs_games") { row in
      (game: row.integer(0), move: row.integer(1))
    }
    for (game, move) in marks where moves[game] != move {
      return "\(game) is not told move \(moves[game]!)"
    }
    if marks.count != Self.users.count { return "only \(marks) are told" }
    let late = Self.users.first { polledAt[$0].map { time - $0 > .seconds(300) } ?? true }
    if let late { return "\(late) is not polled any more" }
    return nil
  }
}

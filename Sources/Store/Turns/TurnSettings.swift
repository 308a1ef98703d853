package import Base
import MariaDB

/// The notifications that a player wants.
package struct TurnSettings: Sendable, Equatable {
  package struct Kinds: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    /// The bits of the column `kinds`.
    package static let turn = Kinds(rawValue: 1)
    package static let gameEnded = Kinds(rawValue: 2)
    /// Less than an hour is left for a move.
    package static let clock = Kinds(rawValue: 4)
  }

  package struct QuietHours: Sendable, Equatable {
    /// Minutes after midnight, 0 to 1439.
    package let from: Int64
    /// The same; if before `from`: on the next day. Never equal to `from`.
    package let to: Int64

    package init(from: Int64, to: Int64) {
      self.from = from
      self.to = to
    }

    func contain(_ minute: Int64) -> Bool {
      from < to ? (from..<to).contains(minute) : minute >= from || minute < to
    }
  }

  package var quietHours: QuietHours?
  /// A name of the system's time zones, for the quiet hours.
  package var timeZone = "UTC"
  package var kinds: Kinds = .turn
  package var tellsOfLiveGames = true
  package var mutedGames: [Int64] = []

  package init() {}

  /// The most games that can be muted.
  package static let mostMuted = 500

  package func isQuiet(at instant: Timestamp) -> Bool { silence(at: instant) != nil }

  /// The time for which no notification may make a sound from now on; nil if it may. A zone that
  /// the system does not know any more counts as UTC.
  ///
  /// - Parameter phone: nil if the phone has no quiet hours of its own.
  package func silence(at instant: Timestamp, on phone: PhoneQuietHours? = nil) -> Duration? {
    guard let hours = phone?.hours ?? quietHours else { return nil }
    let zone = ZoneRules(named: phone?.timeZone ?? timeZone)
    let offset = zone?.offset(at: instant.seconds) ?? 0
    let second = (instant.seconds + offset).quotientAndRemainder(flooredBy: 86_400).1
    guard hours.contain(second / 60) else { return nil }
    let left = (hours.to * 60 - second).quotientAndRemainder(flooredBy: 86_400).1
    // The clocks may change before the end.
    let change = (zone?.offset(at: instant.seconds + left) ?? 0) - offset
    return .seconds(max(left - change, 1))
  }
}

extension TurnUsers {
  /// The user's settings, or the defaults.
  package func settings(of userID: Int64) throws -> TurnSettings {
    try records.read { transaction in try transaction.turnSettings.find(of: userID) }
  }

  /// Changes the settings. The next poll, which is due now, follows them.
  ///
  /// - Throws: ``RateLimited`` at more than 60 an hour; what `change` throws.
  /// - Returns: the new settings.
  package func changeSettings(
    of userID: Int64, _ change: (inout TurnSettings) throws -> Void
  ) throws -> TurnSettings {
    try records.transaction { transaction in
      try transaction.limits.count(.turnSettings, of: String(userID))
      let statements = transaction.turnSettings
      var settings = try statements.find(of: userID, isLocked: true)
      try change(&settings)
      try statements.write(settings, of: userID)
      try transaction.turnRegistrations.makeDue(userID)
      return settings
    }
  }
}

/// Statements on `turn_settings`.
struct TurnSettingsStatements: ~Copyable {
  let transaction: Transaction

  func find(of userID: Int64) throws(DatabaseError) -> TurnSettings {
    try find(of: userID, isLocked: false)
  }

  fileprivate func find(of userID: Int64, isLocked: Bool) throws(DatabaseError) -> TurnSettings {
    let query: StaticString =
      isLocked
      ? """
      SELECT quiet_from, quiet_to, time_zone, kinds + 0, live_games, muted_games
      FROM turn_settings WHERE ogs_user_id = ? FOR UPDATE
      """
      : """
      SELECT quiet_from, quiet_to, time_zone, kinds + 0, live_games, muted_games
      FROM turn_settings WHERE ogs_user_id = ?
      """
    return try transaction.connection.row(query, [.integer(userID)]) { row in
      var settings = TurnSettings()
      if let from = row.optionalInteger(0), let to = row.optionalInteger(1) {
        settings.quietHours = TurnSettings.QuietHours(from: from, to: to)
      }
      settings.timeZone = row.text(2)
      settings.kinds = TurnSettings.Kinds(rawValue: Int(row.integer(3)))
      settings.tellsOfLiveGames = row.boolean(4)
      settings.mutedGames = Self.ids(row.text(5))
      return settings
    } ?? TurnSettings()
  }

  private static func ids(_ json: String) -> [Int64] {
    var ids: [Int64] = []
    var reader = JSONReader(Array(json.utf8))
    // Written by this program, and checked by the table; unreadable text mutes nothing.
    try? reader.array { id in ids.append(try id.integer()) }
    return ids
  }

  fileprivate func write(_ settings: TurnSettings, of userID: Int64) throws(DatabaseError) {
    let muted = JSONWriter.array { array in
      for id in settings.mutedGames { array.integer(id) }
    }
    _ = try transaction.connection.execute(
      """
      INSERT INTO turn_settings (ogs_user_id, quiet_from, quiet_to, time_zone, kinds, live_games,
        muted_games, changed_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE quiet_from = VALUES(quiet_from), quiet_to = VALUES(quiet_to),
        time_zone = VALUES(time_zone), kinds = VALUES(kinds), live_games = VALUES(live_games),
        muted_games = VALUES(muted_games), changed_at = VALUES(changed_at)
      """,
      [
        .integer(userID), .integer(settings.quietHours?.from), .integer(settings.quietHours?.to),
        .text(settings.timeZone), .integer(Int64(settings.kinds.rawValue)),
        .boolean(settings.tellsOfLiveGames), .bytes(muted), .time(transaction.now),
      ])
  }
}

extension Transaction {
  var turnSettings: TurnSettingsStatements {
    TurnSettingsStatements(transaction: Transaction(sharing: self))
  }
}

/// A user's settings, applied to the games that a poll has seen.
struct TurnWishes: Sendable {
  /// Games that the user wants no notifications about.
  let silent: Set<Int64>
  private let settings: TurnSettings
  private let seen: SeenGames
  private let now: Timestamp
  private let isQuiet: Bool

  /// - Parameter isQuiet: whether none of the user's devices may make a sound.
  init(_ settings: TurnSettings, of seen: SeenGames, at now: Timestamp, isQuiet: Bool) {
    self.settings = settings
    self.seen = seen
    self.now = now
    self.isQuiet = isQuiet
    silent = Set(settings.mutedGames).union(settings.tellsOfLiveGames ? [] : seen.live)
  }

  /// The turns to tell now. The others stay new: they are told when the quiet hours end.
  func told(of turns: [TurnGame]) -> [TurnGame] {
    guard settings.kinds.contains(.turn), !isQuiet else { return [] }
    return turns.filter { !silent.contains($0.id) }
  }

  /// The ended games to tell. Games that end during quiet hours are not told, then or later.
  func ended(_ gone: [StoredGame]) -> [TurnGame] {
    guard settings.kinds.contains(.gameEnded), !isQuiet else { return [] }
    return gone.filter { !$0.isSilent }.map(\.game)
  }

  /// The turns for which less than an hour is left, each once.
  func endingClocks(of turns: Turns, stored: [StoredGame]) -> [TurnGame] {
    guard settings.kinds.contains(.clock), !isQuiet else { return [] }
    let told = Dictionary(uniqueKeysWithValues: stored.map { ($0.game.id, $0.clockMove) })
    return (turns.new + turns.old).filter { game in
      !seen.live.contains(game.id) && isClockShort(of: game) && told[game.id] != game.lastMove
        && !silent.contains(game.id)
    }
  }

  /// Whether less than an hour is left for the move of the player who must act.
  private func isClockShort(of game: TurnGame) -> Bool {
    guard let end = seen.clockEnds[game.id] else { return false }
    return (1...3_600_000).contains(end - now.milliseconds)
  }

  /// Games that cannot wait for an hour.
  var urgent: Set<Int64> {
    seen.live.union(seen.games.filter(isClockShort).map(\.id))
  }

  func hasLiveGame(in turns: Turns) -> Bool {
    (turns.new + turns.old + turns.notYours).contains { $0.isRunning && seen.live.contains($0.id) }
  }
}

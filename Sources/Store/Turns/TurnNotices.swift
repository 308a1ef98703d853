import Base
import Cryptography
import MariaDB

/// What a user's devices are told, as it is true after a poll. Used in the poll's transaction.
struct TurnNotices: ~Copyable {
  let transaction: Transaction
  let user: ClaimedUser
  let message: TurnMessage.Maker

  init(
    _ transaction: borrowing Transaction, of user: ClaimedUser, message: @escaping TurnMessage.Maker
  ) {
    self.transaction = Transaction(sharing: transaction)
    self.user = user
    self.message = message
  }

  /// What one notification tells some of the devices.
  private struct Content: Hashable {
    let games: [GameMark]
    let badge: Int64
    /// The deliveries in whose place it comes, and an id of its own where it tells again.
    let replaced: [String]
    /// Of one of those that the device may show already, and that is true in part: it takes its place there, too.
    let collapseID: String?
  }

  /// Tells the devices of the turns that are new, and again of those whose notification was given up. What
  /// waits undelivered and is not true any more is withdrawn, or replaced by what is. A device that is told
  /// nothing, but shows another badge, gets the badge alone.
  func update(told: [TurnGame]) throws {
    let badges = try transaction.badges.ofDevices(of: user.id)
    let open = try openNotices()
    let toldDevices = try tellTurns(told, to: badges, replacing: open)
    try transaction.badges.correct(
      badges.filter { !toldDevices.contains($0.token) }, message: message)
  }

  /// Tells of single games.
  func tell(_ kind: SingleKind, of games: [TurnGame]) throws {
    if games.isEmpty { return }
    let badges = try transaction.badges.ofDevices(of: user.id)
    for game in games {
      let event =
        switch kind {
        case .ended: TurnMessage.Event.ended(game)
        case .clock: TurnMessage.Event.clock(game)
        }
      for (badge, devices) in Dictionary(grouping: badges, by: \.waiting) {
        try post(
          event, kind: kind.kind, games: [GameMark(game)], badge: badge, to: devices.map(\.address))
      }
    }
  }

  /// Tells that less than an hour is left for these moves, once for each.
  func warn(of games: [TurnGame]) throws {
    try tell(.clock, of: games)
    for game in games { try transaction.games.markClock(game, of: user.id) }
  }

  enum SingleKind {
    case ended, clock

    fileprivate var kind: NewNotification.Kind {
      switch self {
      case .ended: .gameEnded
      case .clock: .clock
      }
    }
  }
}

extension TurnNotices {
  /// - Returns: the devices that get something.
  private func tellTurns(
    _ told: [TurnGame], to badges: [DeviceBadge], replacing open: [OpenNotice]
  ) throws -> Set<String> {
    let untold = try takeUntold()
    if told.isEmpty && open.isEmpty && untold.isEmpty { return [] }
    let stored = try transaction.games.find(of: user.id).filter { $0.game.isTurn(of: user.id) }
    let waiting = stored.map(\.game)
    let marks = Set(waiting.map(GameMark.init))
    let audible = Set(stored.filter { !$0.isSilent }.map { GameMark($0.game) })
    let newID = transaction.makeID()
    var contents: [Content: [PushAddress]] = [:]
    for device in badges {
      let mine = open.filter {
        $0.token == device.token && !$0.isBeingSent && !$0.isShownAndTrue(marks)
      }
      try withdraw(
        mine.filter { $0.kind == .clock && !marks.isSuperset(of: $0.games) }, from: device)
      let turns = mine.filter { $0.kind == .turn }
      let pending = Set(turns.flatMap(\.games)).intersection(marks)
      let again = audible.intersection(untold[device.token] ?? [])
      let content = pending.union(told.map(GameMark.init)).union(again)
      let isTrue = turns.count == 1 && turns[0].badge == device.waiting && turns[0].games == content
      if isTrue { continue }
      try withdraw(turns, from: device)
      if content.isEmpty { continue }
      contents[
        Content(
          games: waiting.map(GameMark.init).filter(content.contains), badge: device.waiting,
          replaced: turns.map(\.id).sorted() + (again.isEmpty ? [] : [newID]),
          collapseID: turns.last { !marks.isDisjoint(with: $0.games) }?.shownUnder),
        default: []
      ].append(device.address)
    }
    let tokens = Set(badges.map(\.token))
    try withdraw(open.filter { !tokens.contains($0.token) && !$0.isBeingSent })
    for (content, addresses) in contents {
      let games = waiting.filter { content.games.contains(GameMark($0)) }
      try post(
        .turns(games), kind: .turn, games: content.games, badge: content.badge, to: addresses,
        inPlaceOf: content.replaced, collapseID: content.collapseID)
    }
    return Set(contents.values.joined().map(\.token))
  }

  /// Puts a notification into the outbox. The same event of the same registration makes no second one.
  private func post(
    _ event: TurnMessage.Event, kind: NewNotification.Kind, games: [GameMark], badge: Int64,
    to addresses: [PushAddress], inPlaceOf replaced: [String] = [],
    collapseID: String? = nil
  ) throws {
    let message = message(event, user.id, badge)
    let marks = games.map { "\($0.id):\($0.lastMove)" }.sorted()
    let parts = [kind.name] + marks + addresses.map(\.token).sorted() + replaced
    let key = hexEncoded(Array(sha256(parts.joined(separator: " ")).prefix(16)))
    let id = try transaction.notifications.post(
      NewNotification(
        kind: kind, eventKey: "turn \(user.id) \(user.createdAt.milliseconds) \(key)",
        collapseID: collapseID ?? message.collapseID, payload: message.payload,
        lifetime: message.lifetime, to: addresses))
    guard let id else { return }
    try transaction.badges.insertNotice(id, of: user.id, games: games, badge: badge)
  }

  /// Also remembers the badge that the device may show by now, so that it is corrected.
  private func withdraw(_ notices: [OpenNotice], from device: DeviceBadge) throws(DatabaseError) {
    try withdraw(notices)
    let shown = notices.last { $0.shownUnder != nil && $0.badge != device.waiting }
    if let shown { try transaction.badges.note(shown.badge, on: device.token) }
  }

  private func withdraw(_ notices: [OpenNotice]) throws(DatabaseError) {
    if notices.isEmpty { return }
    _ = try transaction.connection.execute(
      """
      UPDATE deliveries d JOIN JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS untrue
        ON d.id = untrue.id
      SET d.state = 'dead', d.reason = 'withdrawn', d.finished_at = UTC_TIMESTAMP(3)
      WHERE d.state = 'open'
      """,
      [.bytes(JSONWriter.array(of: notices.map(\.id)))])
  }
}

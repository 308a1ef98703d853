import Base
import Cryptography
import MariaDB

/// The notifications to a user's devices after a poll. Used in the poll's transaction.
struct TurnNotices: ~Copyable {
  let transaction: Transaction
  let user: ClaimedUser
  let settings: TurnSettings
  /// Prefix of texts.
  let prefix: String

  init(
    _ transaction: borrowing Transaction, of user: ClaimedUser, _ settings: TurnSettings,
    prefix: String
  ) {
    self.transaction = Transaction(sharing: transaction)
    self.user = user
    self.settings = settings
    self.prefix = prefix
  }

  /// The common properties of the devices that get one notification.
  private struct Audience: Hashable {
    let badge: Int64
    let language: Language
    /// The wait until the end of their quiet hours; nil outside of quiet hours.
    let delay: Duration?
  }

  /// The content of one notification to some of the devices.
  private struct Content: Hashable {
    let games: [GameMark]
    /// The deliveries that it replaces, and a new id if it tells turns again.
    let replaced: [String]
    /// The collapse id of a replaced notification that the device may already show and that is
    /// still true in part: this one replaces it there, too.
    let collapseID: String?
    let audience: Audience
  }

  private func audience(_ device: DeviceBadge) -> Audience {
    Audience(badge: device.waiting, language: device.language, delay: silence(of: device))
  }

  /// The time for which the device may make no sound from now on; nil if it may.
  func silence(of device: DeviceBadge) -> Duration? {
    settings.silence(at: transaction.now, on: device.quietHours)
  }

  /// Tells the devices about the new turns, and again about turns whose notification was given up.
  /// Notifications that are not delivered yet and not true any more are withdrawn or replaced;
  /// alerts on the devices that are not true any more are removed. A device that gets no
  /// notification, but shows another badge, gets the badge alone.
  ///
  /// - Parameter urgent: games that cannot wait.
  func update(told: [TurnGame], urgent: Set<Int64>) throws {
    let devices = try transaction.badges.ofDevices(of: user.id)
    let open = try openNotices()
    let alerts = try shownAlerts()
    let untold = try takeUntold(of: devices)
    if told.isEmpty && open.isEmpty && alerts.isEmpty && untold.isEmpty {
      return try transaction.badges.correct(devices)
    }
    let stored = try transaction.games.find(of: user.id)
    let informed = try tellTurns(
      told, and: untold, of: stored, to: devices, replacing: open, urgent: urgent
    ).union(removeAlerts(from: devices, alerts, games: stored.map(\.game)))
    try transaction.badges.correct(devices.filter { !informed.contains($0.token) })
  }

  /// Posts a notification for each game.
  func tell(_ kind: SingleKind, of games: [TurnGame]) throws {
    if games.isEmpty { return }
    var audiences: [Audience: [DeviceBadge]] = [:]
    for device in try transaction.badges.ofDevices(of: user.id) {
      audiences[audience(device), default: []].append(device)
    }
    if kind == .ended { audiences = audiences.filter { $0.key.delay == nil } }
    for game in games {
      let event =
        switch kind {
        case .ended: TurnEvent.ended(game)
        case .clock: TurnEvent.clock(game)
        }
      for (audience, devices) in audiences {
        try post(
          event, kind: kind.kind, games: [GameMark(game)], to: audience, devices.map(\.address))
      }
    }
  }

  /// Warns that less than an hour is left for these moves, once for each.
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
  /// - Parameters:
  ///   - untold: by token, the turns that a device is told again.
  ///   - stored: all games of the user, as they are now.
  /// - Returns: the devices that get a notification now.
  private func tellTurns(
    _ told: [TurnGame], and untold: [String: Set<GameMark>], of stored: [StoredGame],
    to devices: [DeviceBadge], replacing open: [OpenNotice], urgent: Set<Int64>
  ) throws -> Set<String> {
    let waiting = stored.map(\.game).filter { $0.isTurn(of: user.id) }
    let marks = Set(waiting.map(GameMark.init))
    let audible = Set(stored.filter { !$0.isSilent }.map { GameMark($0.game) })
    let newID = transaction.makeID()
    var contents: [Content: [PushAddress]] = [:]
    for device in devices {
      let mine = open.filter {
        $0.token == device.token && !$0.isBeingSent && !$0.isShownAndTrue(marks)
      }
      let audience = audience(device)
      if audience.delay == nil { try release(mine.filter(\.isDeferred)) }
      try withdraw(
        mine.filter { $0.kind == .clock && !marks.isSuperset(of: $0.games) }, from: device)
      let turns = mine.filter { $0.kind == .turn }
      let pending = Set(turns.flatMap(\.games)).intersection(marks)
      let again = audible.intersection(untold[device.token] ?? [])
      let content = pending.union(told.map(GameMark.init)).union(again)
      let isTrue = turns.count == 1 && turns[0].badge == device.waiting && turns[0].games == content
      // Quiet hours may have begun since it was written.
      if isTrue && (audience.delay == nil || turns[0].isDeferred) { continue }
      try withdraw(turns, from: device)
      if content.isEmpty { continue }
      contents[
        Content(
          games: waiting.map(GameMark.init).filter(content.contains),
          replaced: turns.map(\.id).sorted() + (again.isEmpty ? [] : [newID]),
          collapseID: turns.last { !marks.isDisjoint(with: $0.games) }?.shownUnder,
          audience: audience),
        default: []
      ].append(device.address)
    }
    let tokens = Set(devices.map(\.token))
    try withdraw(open.filter { !tokens.contains($0.token) && !$0.isBeingSent })
    for (content, addresses) in contents {
      let games = waiting.filter { content.games.contains(GameMark($0)) }
      try post(
        .turns(games, isUrgent: !urgent.isDisjoint(with: games.map(\.id))), kind: .turn,
        games: content.games, to: content.audience, addresses, inPlaceOf: content.replaced,
        collapseID: content.collapseID)
    }
    return Set(contents.filter { $0.key.audience.delay == nil }.values.joined().map(\.token))
  }

  /// Posts a notification to the outbox. The same event of the same registration is posted only
  /// once.
  private func post(
    _ event: TurnEvent, kind: NewNotification.Kind, games: [GameMark],
    to audience: Audience, _ addresses: [PushAddress], inPlaceOf replaced: [String] = [],
    collapseID: String? = nil
  ) throws {
    var content = NotificationContent(
      of: event, to: user.id, badge: audience.badge, in: audience.language, prefix: prefix)
    content.collapseID = collapseID ?? content.collapseID
    let marks = games.map { "\($0.id):\($0.lastMove)" }.sorted()
    let parts = [kind.name] + marks + addresses.map(\.token).sorted() + replaced
    let key = hexEncoded(Array(sha256(parts.joined(separator: " ")).prefix(16)))
    let id = try transaction.notifications.post(
      NewNotification(
        kind: kind, eventKey: "turn \(user.id) \(user.createdAt.milliseconds) \(key)",
        content: content, lifetime: .day, to: addresses, delay: audience.delay ?? .zero))
    guard let id else { return }
    try transaction.badges.insertNotice(
      id, of: user.id, games: games, badge: audience.badge, isDeferred: audience.delay != nil)
  }

  /// Makes notifications that wait for the end of quiet hours due now.
  private func release(_ notices: [OpenNotice]) throws(DatabaseError) {
    if notices.isEmpty { return }
    _ = try transaction.connection.execute(
      """
      UPDATE deliveries d JOIN JSON_TABLE(?, '$[*]' COLUMNS (id CHAR(36) PATH '$')) AS deferred
        ON d.id = deferred.id
      SET d.due_at = UTC_TIMESTAMP(3)
      WHERE d.state = 'open'
      """,
      [.bytes(JSONWriter.array(of: notices.map(\.id)))])
  }

  /// Withdraws notifications, and records the badge that the device may show by now, so that it is
  /// corrected.
  private func withdraw(_ notices: [OpenNotice], from device: DeviceBadge) throws(DatabaseError) {
    try withdraw(notices)
    let shown = notices.last { $0.shownUnder != nil && $0.badge != device.waiting }
    if let shown { try transaction.badges.note(shown.badge, on: device.token) }
  }

  private func withdraw(_ notices: [OpenNotice]) throws(DatabaseError) {
    if notices.isEmpty { return }
    let shown = notices.filter { $0.shownUnder != nil }.map(\.id)
    if !shown.isEmpty {
      _ = try transaction.connection.execute(
        Self.rememberAlerts, [.bytes(JSONWriter.array(of: shown))])
    }
    try transaction.deliveries.withdraw(notices.map(\.id))
  }
}

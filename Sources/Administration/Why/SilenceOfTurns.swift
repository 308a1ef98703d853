import Base
import Store

/// Explanations of users and games of online-go.com.
extension SilenceReport {
  /// - Parameter token: explains only this device; nil for all devices of the user.
  /// - Returns: true if this user is known.
  func explainUser(
    _ id: Int64, onlyOn token: String? = nil, in explanation: inout Explanation
  ) throws -> Bool {
    guard let user = try records.turnUsers.find(id) else { return false }
    explanation.note(
      "user",
      "User \(id) of online-go.com has \(count(user.devices, "device")) and \(count(user.activeGames, "active game"))."
    )
    try explainRegistrations(of: id, onlyOn: token, in: &explanation)
    try explainPolls(of: user, in: &explanation)
    let games = try records.turnUsers.games(of: id)
    if user.checkedAt != nil { try explainTurns(of: id, in: games, &explanation) }
    let deliveries = try records.turnUsers.deliveries(to: id, limit: Self.mostDeliveries)
      .filter { token == nil || $0.token == token }
    try explainDeliveries(deliveries, of: "user \(id)", in: &explanation)
    for limit in try records.turnUsers.limitsUsedUp(by: id) { blame(limit, in: &explanation) }
    return true
  }

  /// - Returns: true if a polled user plays the game, by the last polls.
  func explainGame(_ id: Int64, in explanation: inout Explanation) throws -> Bool {
    let players = try records.turnUsers.players(of: id, limit: Self.most)
    for player in players {
      guard let user = try records.turnUsers.find(player) else { continue }
      let games = try records.turnUsers.games(of: player).filter { $0.game.id == id }
      try explainTurns(of: player, in: games, &explanation)
      try explainRegistrations(of: player, onlyOn: nil, in: &explanation)
      try explainPolls(of: user, in: &explanation)
      try explainDeliveries(
        records.turnUsers.deliveries(to: player, limit: Self.mostDeliveries), of: "user \(player)",
        in: &explanation)
    }
    return !players.isEmpty
  }

  private func explainRegistrations(
    of user: Int64, onlyOn token: String?, in explanation: inout Explanation
  ) throws {
    let registrations = try records.turnRegistrations.list(of: user, limit: Self.most)
    if registrations.isEmpty {
      explanation.blame(
        "no_registration",
        "No device is registered for the turns of user \(user). Open the app on the phone, and allow notifications."
      )
    }
    for registration in registrations where token == nil || registration.token == token {
      let last = registration.lastNotifiedAt.map { "was last notified on \($0.rfc3339)" }
      explanation.note(
        "registration",
        "The token \(registration.token.tokenPreview) is registered for the turns of user \(user) since "
          + "\(registration.registeredAt.rfc3339), and \(last ?? "was never notified").")
    }
  }

  private func explainPolls(
    of user: TurnUserRecord, in explanation: inout Explanation
  ) throws {
    if let end = try records.turnUsers.pauseEnd() {
      explanation.blame(
        "polls_paused",
        "online-go.com refused three users in a row, so all polls are paused until \(end.rfc3339). The pause ends automatically; a lower "
          + "OGS_REQUESTS_PER_SECOND avoids it.")
    }
    if let checkedAt = user.checkedAt {
      explanation.note(
        "polled",
        "online-go.com was last asked about user \(user.id) on \(checkedAt.rfc3339); the next time is "
          + "\(user.dueAt.rfc3339).")
    } else if user.failures == 0 {
      explanation.blame(
        "never_polled",
        "online-go.com was never asked about user \(user.id) yet; that is due on \(user.dueAt.rfc3339)."
      )
    }
    if user.failures > 0 {
      explanation.blame(
        "poll_failing",
        "The last \(user.failures == 1 ? "poll" : "\(user.failures) polls") of user \(user.id) failed: "
          + "\(user.failure?.printable ?? "no reason is kept"). The next is due on \(user.dueAt.rfc3339)."
      )
    } else if user.isLate {
      explanation.blame(
        "poll_late",
        "The poll of user \(user.id) is due since \(user.dueAt.rfc3339): the companion cannot keep up, or does not run. See "
          + "OGS_REQUESTS_PER_SECOND.")
    }
  }

  private func explainTurns(
    of user: Int64, in games: [TurnGameRecord], _ explanation: inout Explanation
  ) throws {
    let settings = try records.turnUsers.settings(of: user)
    let turns = games.filter { $0.game.isTurn(of: user) }
    if turns.isEmpty {
      explanation.blame(
        "not_their_turn",
        games.count == 1
          ? "As the last poll saw it, it is not the turn of user \(user) in game \(games[0].game.id), or the game is over or "
            + "paused."
          : "As the last poll saw it, it is the turn of user \(user) in none of the games, so no notification is due."
      )
    }
    for turn in turns.prefix(Self.most) {
      let since = Timestamp(milliseconds: turn.game.lastMove).rfc3339
      if turn.notifiedMove >= turn.game.lastMove {
        explanation.note(
          "turn_told",
          "It is the turn of user \(user) in game \(turn.game.id) since \(since), and a notification of that was written."
        )
      } else if turn.isSilent {
        explanation.blame(
          "turn_muted",
          "It is the turn of user \(user) in game \(turn.game.id) since \(since). The user's settings switch off notifications "
            + "for this game: it is muted, or live.")
      } else if settings.isQuiet(at: records.now) || !settings.kinds.contains(.turn) {
        explanation.blame(
          "turn_unwanted",
          "It is the turn of user \(user) in game \(turn.game.id) since \(since). The user's settings allow no notifications of turns "
            + "now: these are quiet hours, or turns are switched off. Turns that still wait at the end of quiet hours are notified then."
        )
      } else {
        explanation.blame(
          "turn_not_told",
          "It is the turn of user \(user) in game \(turn.game.id) since \(since), and no notification was written: no device "
            + "was registered when it was seen. The next poll writes one.")
      }
    }
  }

  private func count(_ number: Int64, _ noun: String) -> String {
    "\(number) \(noun)\(number == 1 ? "" : "s")"
  }
}

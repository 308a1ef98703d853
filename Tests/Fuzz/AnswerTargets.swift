import Base

@testable import Delivery
@testable import MariaDB
@testable import Store

extension FuzzTarget {
  static let ofAnswers = [
    FuzzTarget("games", atMost: 8192, testGames),
    FuzzTarget("bank", atMost: 2048, testBank),
    FuzzTarget("push-answers", atMost: 1024, testPushAnswers),
    FuzzTarget("http-date", atMost: 128, testDate),
    FuzzTarget("mail-content", atMost: 1024, testMail),
  ]

  /// Makes the values of a statement, as its execution does.
  private static func store(_ values: [Parameter]) {
    var buffers = ParameterBuffers(count: values.count)
    buffers.store(values)
  }

  /// The answer of online-go.com about a player, up to the values of the statements of a poll.
  private static func testGames(_ input: [UInt8]) {
    guard let seen = try? SeenGames(ofPlayer: input, for: 1) else { return }
    let ids = Set(seen.games.map(\.id))
    require(ids.count == seen.games.count && !ids.contains { $0 <= 0 }, "a game stands twice")
    require(ids.isDisjoint(with: seen.unreadable), "a game is read and unreadable")
    require(seen.live.isSubset(of: ids) && ids.isSuperset(of: seen.clockEnds.keys), "a foreign id")
    require(
      seen.games.allSatisfy { $0.name.unicodeScalars.count <= TurnGame.longestName }, "a long name")
    testPoll(seen)
  }

  private static func testPoll(_ seen: SeenGames) {
    var settings = TurnSettings()
    settings.kinds = [.turn, .gameEnded, .clock]
    let now = Timestamp.now()
    let turns = Turns(in: seen.games, of: 1) { _ in 0 }
    let wishes = TurnWishes(settings, of: seen, at: now, isQuiet: false)
    let stored = seen.games.enumerated().map { position, game in
      StoredGame(
        game: game, position: Int64(position), notifiedMove: 0, clockMove: 0, isSilent: false)
    }
    let told = wishes.told(of: turns.new)
    let clocks = wishes.endingClocks(of: turns, stored: stored)
    _ = (wishes.urgent, wishes.ended(stored), wishes.hasLiveGame(in: turns))
    store([.bytes(GameMark.json((told + clocks).map(GameMark.init)))])
    for game in seen.games {
      _ = Timestamp(milliseconds: game.lastMove).rfc3339
      store([
        .integer(game.id), .text(game.name), .integer(game.lastMove), .integer(game.currentPlayer),
        .dateTime(milliseconds: game.lastMove),
      ])
    }
  }

  /// The `Date` of an answer.
  private static func testDate(_ input: [UInt8]) {
    let text = input.prefix { $0 != 0 }
    guard let date = HTTPClient.date(String(decoding: text, as: UTF8.self)) else { return }
    _ = clockProblem(.now() - date, from: "the other's")
    _ = SiteCertificate(expiresAt: date, fingerprint: []).problem(at: .now())
    store([.time(date)])
  }

  /// What the responder seals for the companion.
  private static func testMail(_ input: [UInt8]) {
    let message = Message(sender: "a@example.org", publicURL: "https://example.org")
    for kind in MailKind.allCases {
      let mail = Mail(id: "id", kind: kind, recipient: "b@example.org", sealed: "")
      _ = message.text(with: input, of: mail, at: .now())
    }
  }

  /// Both answers of a bank.
  private static func testBank(_ input: [UInt8]) {
    if let answer = try? TokenAnswer(json: input) {
      if let token = try? answer.accessToken(nonceHash: [UInt8](repeating: 0, count: 32)) {
        require(token.isVisibleASCII(atMost: 8192), "the token breaks a field")
      }
      require(answer.error?.rawValue.isVisibleASCII(atMost: 40) ?? true, "the error is no word")
    }
    guard let cards = try? BankCard.list(json: input) else { return }
    require(cards.count <= 100, "\(cards.count) cards")
    for card in cards {
      require(!card.id.hasControls && (1...512).contains(card.id.utf8.count), "the id of a card")
      require(card.lastFour.isVisibleASCII(atMost: 4), "the digits of a card")
      store([
        .text(card.id), .text(card.lastFour), .text(card.cardType), .integer(card.expiryMonth),
        .integer(card.expiryYear),
      ])
    }
  }

  /// The answers of FCM, Google's token endpoint and APNs.
  private static func testPushAnswers(_ input: [UInt8]) {
    for status in [200, 400, 403, 404, 410, 429, 503] {
      let answer = HTTPAnswer(status: status, body: input, entityTag: nil, retryAfter: nil)
      let outcome = FCMOutcome(answer)
      _ = outcome.action(attempts: 1)
      require(outcome.reason.utf8.allSatisfy(\.isVisible), "FCM's word \(outcome.reason)")
      let apple = APNsOutcome(status: status, body: input.span, apnsID: "id")
      if case .unregistered(_, let since?) = apple { store([.time(since)]) }
      switch apple {
      case .rejected(_, let reason), .unregistered(let reason, _):
        require(reason.rawValue.utf8.allSatisfy(\.isVisible), "Apple's word \(reason.rawValue)")
      default: require(status == 200, "no outcome")
      }
    }
    let granted = GrantedToken(input)
    require(granted.token?.isVisibleASCII(atMost: 2048) ?? true, "Google's token breaks a field")
    require((.zero ... .seconds(7200)).contains(granted.lifetime), "\(granted.lifetime)")
  }
}

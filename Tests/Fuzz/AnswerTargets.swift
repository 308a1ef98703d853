import Base
import Store

@testable import Delivery

extension FuzzTarget {
  static let ofAnswers = [
    FuzzTarget("games", atMost: 8192, testGames),
    FuzzTarget("bank", atMost: 2048, testBank),
    FuzzTarget("push-answers", atMost: 1024, testPushAnswers),
  ]

  /// The answer of online-go.com about a player.
  private static func testGames(_ input: [UInt8]) {
    guard let seen = try? SeenGames(ofPlayer: input, for: 1) else { return }
    let ids = Set(seen.games.map(\.id))
    require(ids.count == seen.games.count && !ids.contains { $0 <= 0 }, "a game stands twice")
    require(ids.isDisjoint(with: seen.unreadable), "a game is read and unreadable")
    require(seen.live.isSubset(of: ids) && ids.isSuperset(of: seen.clockEnds.keys), "a foreign id")
    require(
      seen.games.allSatisfy { $0.name.unicodeScalars.count <= TurnGame.longestName }, "a long name")
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
    }
  }

  /// The answers of FCM, Google's token endpoint and APNs.
  private static func testPushAnswers(_ input: [UInt8]) {
    for status in [200, 400, 403, 404, 410, 429, 503] {
      let answer = HTTPAnswer(status: status, body: input, entityTag: nil, retryAfter: nil)
      let outcome = FCMOutcome(answer)
      _ = outcome.action(attempts: 1)
      require(outcome.reason.utf8.allSatisfy(\.isVisible), "FCM's word \(outcome.reason)")
      switch APNsOutcome(status: status, body: input.span, apnsID: "id") {
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

import Base
import HTTP
import Store

/// `GET /api/mobile/wallet/cards`: the cards of the summary.
func getCards(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let cards = try context.database.cards(of: caller, at: context.now)
  return .json { json in json.write(cards) }
}

/// `POST /api/mobile/wallet/cards/:id/default`: the card that payments take unless they name one.
///
/// - Throws: ``Failure/notFound(_:)`` for a card that is not in the account's wallet.
func makeCardDefault(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard
    try context.database.makeDefault(card: context.pathItem, by: caller, at: context.now)
  else { throw Failure.unknownCard }
  return .json { json in json.member("success", true) }
}

/// `DELETE /api/mobile/wallet/cards/:id`: takes a card out of the wallet.
///
/// - Throws: ``Failure/notFound(_:)`` for a card that is not in the account's wallet.
func removeCard(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard try context.database.remove(card: context.pathItem, by: caller, at: context.now) else {
    throw Failure.unknownCard
  }
  return .json { json in json.member("success", true) }
}

extension Failure {
  static let unknownCard = Failure.notFound("Card not found")
}

extension JSONWriter {
  /// The member `cards`.
  mutating func write(_ cards: [Card]) {
    member(
      "cards",
      array: { array in
        for card in cards { array.object { $0.members(of: card) } }
      })
  }

  private mutating func members(of card: Card) {
    member("id", card.id)
    member("lastFour", card.lastFour)
    member("cardType", card.cardType)
    member("bankName", card.bankName)
    if let logo = card.bankLogo { member("bankLogo", logo) }
    member("isDefault", card.isDefault)
    member("addedAt", card.addedAt.rfc3339)
  }
}

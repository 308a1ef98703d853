import Base
import HTTP
import Store

/// `GET /api/mobile/wallet/cards`: lists the same cards as the summary.
func getCards(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  let cards = try context.records.cards.list(of: caller)
  return .json { json in json.write(cards) }
}

/// `POST /api/mobile/wallet/cards/:id/default`: makes a card the default of the wallet.
///
/// - Throws: ``Failure/unknownCard``
func makeCardDefault(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard try context.records.cards.makeDefault(context.pathItem, by: caller) else {
    throw Failure.unknownCard
  }
  return .json { json in json.member("success", true) }
}

/// `DELETE /api/mobile/wallet/cards/:id`: removes a card from the wallet.
///
/// - Throws: ``Failure/unknownCard``
func removeCard(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard try context.records.cards.remove(context.pathItem, by: caller) else {
    throw Failure.unknownCard
  }
  return .json { json in json.member("success", true) }
}

extension Failure {
  static let unknownCard = Failure.notFound(\.cardGone)
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
    if let logo = card.bankLogo {
      member("bankLogo", logo)
      member("bankLogoUrl", logo)  // the name that the app reads
    }
    if let expiry = card.expiry {
      member("expiryMonth", expiry.month)
      member("expiryYear", expiry.year)
    }
    member("isDefault", card.isDefault)
    member("addedAt", card.addedAt.rfc3339)
  }
}

extension Endpoint {
  static var getCards: Endpoint {
    Endpoint(API.getCards) {
      Operation(
        "Lists the cards of the account.", .bearer, answers: .json(["cards": .array(of: .card)]))
    }
  }

  static var makeCardDefault: Endpoint {
    Endpoint(API.makeCardDefault) {
      Operation(
        "Makes a card the default of the wallet.", .bearer, item: .card, answers: .success,
        errors: [.unknownCard])
    }
  }

  static var removeCard: Endpoint {
    Endpoint(API.removeCard) {
      Operation(
        "Removes a card from the wallet.", .bearer, item: .card, answers: .success,
        errors: [.unknownCard])
    }
  }
}

extension Operation.Item {
  fileprivate static let card = Self("The id of a card of the account.")
}

extension Schema {
  static let card: Schema =
    ([
      "id": .string, "lastFour": .string, "cardType": .string, "bankName": .string,
      "bankLogo?": .uri, "bankLogoUrl?": .uri, "expiryMonth?": .integer, "expiryYear?": .integer,
      "isDefault": .boolean, "addedAt": .time,
    ] as Schema).named("Card")
}

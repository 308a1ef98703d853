import Base
import HTTP
import Store

/// `GET /api/mobile/wallet/summary`: returns the signed-in account with its cards and banks.
///
/// - Throws: ``Failure/notFound(_:)`` if the account is gone.
func getSummary(_ request: Request, in context: borrowing Context) throws -> Response {
  let caller = try context.authenticate(request)
  guard let summary = try context.records.wallet.summary(of: caller) else {
    throw Failure.notFound(\.accountGone)
  }
  return .json { json in
    json.member("user", object: { $0.members(of: summary.account) })
    json.write(summary.cards)
    json.member(
      "enrolledBanks",
      array: { array in
        for bank in summary.banks { array.object { $0.members(of: bank) } }
      })
    json.member("biometricEnabled", summary.biometricEnabled)
  }
}

extension JSONWriter {
  fileprivate mutating func members(of bank: EnrolledBank) {
    member("bsimId", bank.bsimID)
    member("name", bank.name)
    member("cardCount", bank.cardCount)
  }
}

extension Endpoint {
  static var getSummary: Endpoint {
    Endpoint(API.getSummary) {
      Operation(
        "Returns the signed-in account with its cards and banks.", .bearer,
        answers: .json([
          "user": .account, "cards": .array(of: .card),
          "enrolledBanks": .array(of: ["bsimId": .string, "name": .string, "cardCount": .integer]),
          "biometricEnabled": .boolean,
        ]), errors: [.notFound(\.accountGone)])
    }
  }
}

import Base
import HTTP
import Store

/// `GET /api/mobile/enrollment/banks`: lists the banks at which people may enroll. Needs no sign-in.
func getBanks(_ request: Request, in context: borrowing Context) throws -> Response {
  let banks = try context.records.banks.list()
  return .json { json in
    json.member(
      "banks",
      array: { array in
        for bank in banks { array.object { $0.members(of: bank) } }
      })
  }
}

extension Failure {
  static let unknownBank = Failure.notFound(\.unknownBank)
}

extension JSONWriter {
  fileprivate mutating func members(of bank: ListedBank) {
    member("bsimId", bank.bsimID)
    member("name", bank.name)
    member("logoUrl", bank.logoURL)
  }
}

extension Endpoint {
  static var getBanks: Endpoint {
    Endpoint(API.getBanks) {
      Operation(
        "Lists the banks at which people may enroll.",
        answers: .json([
          "banks": .array(of: ["bsimId": .string, "name": .string, "logoUrl": .uri.orNull])
        ]))
    }
  }
}

extension Operation.Item {
  static let bank = Self("The `bsimId` of a bank.")
}

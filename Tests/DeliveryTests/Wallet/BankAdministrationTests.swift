import Store
import Support
import Testing

@testable import Administration

/// Terminal commands for banks, and the longest settings that they take.
@Suite struct BankAdministrationTests {
  private func bank(
    _ id: String = "bank-1", _ name: String = "Bank", logo: String? = nil,
    client: String = "client",
    scope: String = "cards"
  ) -> BankConnection {
    BankConnection(
      bsimID: id, name: name, logoURL: logo, authorizationURL: "https://bank.example/a",
      tokenURL: "https://bank.example/t", cardsURL: "https://bank.example/c", clientID: client,
      scope: scope)
  }

  private func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  private func banks(_ delivery: TestDelivery) -> BankAdministration {
    BankAdministration(records: delivery.records())
  }

  @Test func theLongestTextsAreTakenAndLongerOnesAreNot() throws {
    try withDelivery { delivery throws in
      let banks = banks(delivery)
      try banks.add(
        bank(text(64), text(200), client: text(200), scope: text(500)), secret: text(500),
        sealedFor: TestDelivery.keys)
      try banks.add(
        bank("b", "n", logo: "https://bank.example/l", client: "c", scope: "s"), secret: "s",
        sealedFor: TestDelivery.keys)
      let before = delivery.dump
      for (wrong, secret, words) in [
        (bank(text(65)), "s", "--bsim-id "), (bank(""), "s", "--bsim-id "),
        (bank(".."), "s", "--bsim-id "),
        (bank("b", text(201)), "s", "--name must be text of 1 to 200"),
        (bank("b", " "), "s", "--name "),
        (bank(client: text(201)), "s", "--client-id must be text of 1 to 200"),
        (bank(scope: text(501)), "s", "--scope must be text of 1 to 500"),
        (bank(logo: "ftp://bank.example"), "s", "--logo-url "), (bank(), "", "The client secret"),
        (bank(), text(501), "The client secret"),
      ] {
        let error = #expect(throws: BadArguments.self) {
          try banks.add(wrong, secret: secret, sealedFor: TestDelivery.keys)
        }
        #expect(error?.description.hasPrefix(words) == true, "\(error?.description ?? "")")
        #expect(error?.description.contains("\n") == false)
      }
      #expect(delivery.dump == before)
    }
  }

  @Test func banksAreListedAndDisconnectedOnce() throws {
    try withDelivery { delivery throws in
      for id in ["b1", "b2"] {
        try banks(delivery).add(bank(id), secret: "s", sealedFor: TestDelivery.keys)
      }
      _ = try delivery.rehearseAndDo { try BankAdministration(records: $0).disconnect("b1") }
      #expect(try banks(delivery).disconnect("b1") == nil)
      #expect(
        try banks(delivery).list().text.split(separator: "\n").map {
          $0.split(separator: " ").map(String.init)
        }
          == [
            ["ID", "ENROLLED", "TAKES", "ENROLLMENTS", "NAME", "SENDS", "PEOPLE", "TO"],
            ["b1", "0", "no", "Bank", "-"], ["b2", "0", "yes", "Bank", "https://bank.example/a"],
          ])
    }
  }

  /// A merchant's longest list of origins, and the highest number of its requests.
  @Test func aMerchantsHighestSettingsAreTaken() throws {
    try withDelivery { delivery throws in
      let id = try delivery.addMerchant()
      func set(_ change: (inout WantedMerchantSettings) -> Void) throws -> MerchantAnswer? {
        var wanted = WantedMerchantSettings()
        change(&wanted)
        return try MerchantAdministration(records: delivery.records())
          .set(wanted, of: id, sealedFor: TestDelivery.keys)
      }
      let origins = (10..<86).map { "https://shop\($0).example.de" }
      let longest = origins + ["https://shop1.example.de"]
      #expect(longest.joined(separator: " ").utf8.count == 2000)
      #expect(try set { $0.returnOrigins = longest } != nil)
      let longer = origins + ["https://shop1.example.dev"]
      #expect(throws: BadArguments.self) { try set { $0.returnOrigins = longer } }
      #expect(
        try set { $0.hourlyRequests = 1_000_000 }?.text
          == "Changed the settings of the merchant Shop.")
      #expect(throws: BadArguments.self) { try set { $0.hourlyRequests = 1_000_001 } }
      #expect(throws: BadArguments.self) { try set { $0.hourlyRequests = 0 } }
    }
  }
}

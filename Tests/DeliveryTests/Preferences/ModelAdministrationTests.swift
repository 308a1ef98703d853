import Administration
import Store
import Support
import Testing

/// Terminal commands for the catalog of models.
@Suite struct ModelAdministrationTests {
  @Test func theCatalogIsReplacedInTheGivenOrder() throws {
    try withDelivery { delivery throws in
      let list = try ModelAdministration(records: delivery.records()).list()
      #expect(list.text.hasPrefix("NAME\ngpt-4o-mini\n"))
      let change = try delivery.rehearseAndDo {
        try ModelAdministration(records: $0).set(["z-model", "gpt-4o", "a model"])
      }
      #expect(change.text == "Set the catalog to z-model, gpt-4o, a model.")
      let names = try rows("models", of: ModelAdministration(records: delivery.records()).list())
        .map { $0["name"] as? String }
      #expect(names == ["z-model", "gpt-4o", "a model"])
      _ = try delivery.rehearseAndDo { try ModelAdministration(records: $0).set([]) }
      #expect(delivery.sql("SELECT COUNT(*) FROM models") == "0")
      #expect(
        delivery.administratorsEvents == [
          "models_changed z-model, gpt-4o, a model", "models_changed ",
        ])
    }
  }

  @Test(
    arguments: [
      ["a", "A"], [""], [" a"], ["a\u{1b}[2J"], ["b", String(repeating: "x", count: 129)],
    ])
  func malformedNamesChangeNothing(_ names: [String]) throws {
    try withDelivery { delivery throws in
      let before = delivery.dump
      #expect(throws: BadArguments.self) {
        try ModelAdministration(records: delivery.records()).set(names)
      }
      #expect(delivery.dump == before)
    }
  }
}

import Testing

@testable import API

/// `preferred_models` of `POST /api/v1/device-prefs`.
@Suite struct PreferencesModelsTests {
  private func post(_ models: [String], catalogue: String = "SELECT 1") throws -> Answer {
    try withApplication { site in
      let ann = try site.signUp()
      site.sql(catalogue)
      let answer = site.post(#"{"preferred_models":\#(jsonArray(models))}"#, by: ann)
      // A refused list changes nothing and does not count against the limit.
      if answer.status != 200 {
        #expect(site.preferences(of: ann).version == 0)
        #expect(site.hits("device-prefs") == "")
      } else {
        #expect(site.preferences(of: ann).models == answer.models)
      }
      return answer
    }
  }

  private static let emptyCatalogue = "DELETE FROM models"
  private static let bigCatalogue =
    "INSERT INTO models (name, position) SELECT CONCAT('Model-', seq), 10 + seq FROM seq_1_to_40"
  private static func numbered(_ range: ClosedRange<Int>) -> [String] {
    range.map { "Model-\($0)" }
  }

  @Test(arguments: [
    ([" gpt-4o ", "\tmistral-nemo\n"], ["gpt-4o", "mistral-nemo"]),
    (["GPT-4O"], ["gpt-4o"]),
    (["mistral-nemo", "gpt-4o", "MISTRAL-NEMO"], ["mistral-nemo", "gpt-4o"]),
    (["gpt-4o", "gpt-4o", " GPT-4o"], ["gpt-4o"]),
    (["Claude-3.5-Sonnet", "gpt-4o-mini"], ["claude-3.5-sonnet", "gpt-4o-mini"]),
    ([], []),
  ])
  func namesGetTheCataloguesSpellingAndAreStoredOnce(
    given: [String], stored: [String]
  ) throws {
    let answer = try post(given)
    #expect(answer.status == 200)
    #expect(answer.models == stored)
  }

  @Test func theSpellingOfTheCatalogueIsStored() throws {
    let answer = try post(["MODEL-7", "model-8"], catalogue: Self.bigCatalogue)
    #expect(answer.models == ["Model-7", "Model-8"])
  }

  @Test func anUnknownNameIsRefusedWithDetails() throws {
    let answer = try post(["gpt-4o", " foo "])
    #expect(answer.status == 400)
    #expect(
      answer.text
        == #"{"error":{"code":"validation_error","message":"There is no model foo. Choose another one.","#
        + #""details":{"field":"preferred_models","reason":"unknown_model","value":"foo"}}}"#)
  }

  @Test(arguments: ["", " ", "\t\n", "\u{a0}"])
  func anEmptyNameIsRefused(name: String) throws {
    #expect(try post(["gpt-4o", name]).complaint == "preferred_models: empty_model = ")
    let free = try post([name], catalogue: Self.emptyCatalogue)
    #expect(free.complaint == "preferred_models: empty_model = ")
  }

  @Test func sixteenNamesAreStoredAndSeventeenRefused() throws {
    #expect(
      try post(Self.numbered(1...16), catalogue: Self.bigCatalogue).models
        == Self.numbered(1...16))
    let tooMany = try post(Self.numbered(1...17), catalogue: Self.bigCatalogue)
    #expect(tooMany.status == 400)
    #expect(tooMany.complaint == "preferred_models: too_many_models")
  }

  @Test func repeatedNamesCountOnce() throws {
    let given = Self.numbered(1...16) + ["model-1", "MODEL-2", " Model-3 "]
    #expect(
      try post(given, catalogue: Self.bigCatalogue).models == Self.numbered(1...16))
  }

  @Test func anyNameIsAcceptedWhileTheCatalogueIsEmpty() throws {
    let answer = try post([" Foo ", "bar", "FOO", "Foo/Bär 🎉"], catalogue: Self.emptyCatalogue)
    #expect(answer.models == ["Foo", "bar", "Foo/Bär 🎉"])
  }

  @Test func seventeenFreeNamesAreRefused() throws {
    let answer = try post(Self.numbered(1...17), catalogue: Self.emptyCatalogue)
    #expect(answer.complaint == "preferred_models: too_many_models")
  }

  @Test func aFreeNameHasAtMost128Characters() throws {
    let longest = String(repeating: "x", count: 128)
    #expect(try post([longest], catalogue: Self.emptyCatalogue).models == [longest])
    let tooLong = try post([longest + "x"], catalogue: Self.emptyCatalogue)
    #expect(tooLong.status == 400)
    #expect(tooLong.complaint == "preferred_models: model_too_long")
  }

  /// MariaDB measures the catalogue's VARCHAR(128) in the same unit.
  @Test func aFreeNameIsMeasuredInUnicodeScalars() throws {
    let name = "a" + String(repeating: "\u{301}", count: 128)
    let answer = try post([name], catalogue: Self.emptyCatalogue)
    #expect(answer.complaint == "preferred_models: model_too_long")
  }

  @Test func anOversizedListOfFreeNamesIs400() throws {
    let names = [
      String(repeating: "\r\n", count: 120) + "a" + String(repeating: "\u{301}", count: 32_300)
    ]
    let answer = try post(names, catalogue: Self.emptyCatalogue)
    #expect(answer.status == 400)
  }

  @Test func aNameThatHasLeftTheCatalogueMayStay() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post(#"{"preferred_models":["gpt-4o","mistral-nemo"]}"#, by: ann)
      site.sql("DELETE FROM models WHERE name = 'gpt-4o'")
      for (given, stored) in [
        (["gpt-4o", "mistral-nemo"], ["gpt-4o", "mistral-nemo"]),
        (["gpt-4o-mini", " GPT-4O "], ["gpt-4o-mini", "gpt-4o"]),
      ] {
        let answer = site.post(#"{"preferred_models":\#(jsonArray(given))}"#, by: ann)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.models == stored)
      }
    }
  }

  @Test func theCatalogueIsReadOnlyForOtherModels() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.post(#"{"preferred_models":["gpt-4o"]}"#, by: ann)
      site.sql("RENAME TABLE models TO hidden_models")
      let same = site.post(#"{"preferred_models":["gpt-4o"]}"#, by: ann)
      #expect(same.status == 200)
      #expect(same.models == ["gpt-4o"])
      #expect(site.post(#"{"preferred_models":["GPT-4o"]}"#, by: ann).status == 500)
      #expect(site.preferences(of: ann).version == 2)
    }
  }

  @Test func aNameThatHasLeftTheCatalogueCannotBeChosenAnew() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-2")
      let list = #"{"preferred_models":["gpt-4o"]}"#
      site.post(list, by: ann)
      site.sql("DELETE FROM models WHERE name = 'gpt-4o'")
      let refusal = "preferred_models: unknown_model = gpt-4o"
      #expect(site.post(list, by: bob).complaint == refusal)
      #expect(site.post(#"{"preferred_models":["foo","gpt-4o"]}"#, by: ann).status == 400)
      // After it is removed from the list, the name cannot be chosen again.
      #expect(site.post(#"{"preferred_models":[]}"#, by: ann).status == 200)
      #expect(site.post(list, by: ann).complaint == refusal)
    }
  }

  @Test(arguments: ["\u{1B}[31m", "a\u{7F}", "a\u{85}b", "a\u{202E}b", "a\u{2066}b"])
  func aNameWithAControlCharacterIsRefused(name: String) throws {
    let answer = try post([name], catalogue: Self.emptyCatalogue)
    #expect(answer.complaint == "preferred_models: control_character")
  }
}

import Base
import Testing

@Suite struct LanguageTests {
  @Test(arguments: [
    ("de", Language.german), ("de-CH", .german), ("DE-at;q=0.5", .german),
    ("fa-IR,fa;q=0.9", .persian),
    ("ja,fr;q=0.8,en;q=0.9", .english), ("en;q=0.1, es;q=0.2", .spanish), ("fr,de", .french),
    ("x, , es", .spanish), ("en;q=1.000", .english), ("de;q=0,fr;q=0.001", .french),
    ("de;level=1,es;q=0.3", .spanish), ("de;q=2x,fr", .french),
  ])
  func theLanguageThatIsPreferredIsFound(field: String, language: Language) {
    #expect(Language(accepting: field) == language)
  }

  @Test(arguments: [
    "", "*", "ja", "ja,zh;q=0.5", "de;q=0", "de;q=", "deutsch", ";;;,,,", "english",
  ])
  func aFieldThatNamesNoneOfOursNamesNone(field: String) {
    #expect(Language(accepting: field) == nil)
  }

  @Test func onlyTheBeginningOfALongFieldIsRead() {
    #expect(Language(accepting: String(repeating: "ja,", count: 200) + "de") == nil)
  }
}

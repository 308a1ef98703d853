import Store
import Testing

@Suite struct OAuthErrorTests {
  @Test(arguments: ["access_denied", "a", "_", String(repeating: "e", count: 40)])
  func wordsOfTheStandardAreErrors(word: String) {
    #expect(OAuthError(rawValue: word)?.rawValue == word)
  }

  @Test(arguments: [
    "", "Access_denied", "access-denied", "access denied", "é", "a1", "a\n",
    String(repeating: "e", count: 41),
  ])
  func otherTextIsNone(text: String) {
    #expect(OAuthError(rawValue: text) == nil)
  }

  @Test func knownWordsEqualTheirText() {
    #expect(OAuthError(rawValue: "access_denied") == .accessDenied)
  }
}

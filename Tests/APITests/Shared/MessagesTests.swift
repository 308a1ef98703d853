import Base
import Testing

@testable import API

/// The texts for people, in each language.
@Suite struct MessagesTests {
  /// The argument of texts that name something.
  private static let given = "given-thing"
  /// Texts that the wallet's contract fixes in English.
  private static let literals: Set = ["noCredentials", "invalidToken", "invalidRefreshToken"]
  /// Beginnings of sentences that name a member.
  private static let beginnings: Set = [
    "email.subject", "name.subject", "code.subject", "sentValue",
  ]
  private static let others = Language.allCases.filter { $0 != .english }

  private struct Text {
    let name: String
    let text: String
    var takesSomething = false
  }

  private func texts(in language: Language) -> [Text] {
    Mirror(reflecting: Messages(in: language)).children.flatMap { child -> [Text] in
      let name = child.label ?? ""
      switch child.value {
      case let text as String: return [Text(name: name, text: text)]
      case let entry as Messages.Entry:
        return [
          Text(name: "\(name).subject", text: entry.subject),
          Text(name: "\(name).request", text: entry.request),
        ]
      case let pattern as Messages.Pattern:
        return [Text(name: name, text: pattern(Self.given), takesSomething: true)]
      default:
        Issue.record("\(name) is no text")
        return []
      }
    }
  }

  @Test(arguments: Language.allCases)
  func everyTextIsWhole(language: Language) {
    let texts = texts(in: language)
    #expect(texts.count > 50)
    for text in texts {
      #expect(!text.text.isEmpty, "\(text.name)")
      #expect(text.text == text.text.trimmed, "\(text.name)")
      #expect(text.text.contains(Self.given) == text.takesSomething, "\(text.name)")
      for part in ["  ", "\n", "\\", "%", "$", "{", "TODO", "(Function)"] {
        #expect(!text.text.contains(part), "\(text.name)")
      }
    }
  }

  @Test(arguments: Language.allCases)
  func everyTextIsASentence(language: Language) {
    for text in texts(in: language) where !Self.beginnings.contains(text.name) {
      if language == .english, Self.literals.contains(text.name) { continue }
      #expect(text.text.last == ".", "\(text.name)")
    }
  }

  @Test(arguments: others)
  func noTextIsLeftInEnglish(language: Language) {
    for (own, english) in zip(texts(in: language), texts(in: .english)) {
      #expect(own.text != english.text, "\(own.name)")
    }
  }

  @Test func noTwoLanguagesShareAText() {
    for (one, other) in [
      (Language.german, Language.french), (.french, .spanish), (.spanish, .persian),
      (.german, .spanish), (.german, .persian), (.french, .persian),
    ] {
      for (own, foreign) in zip(texts(in: one), texts(in: other)) {
        #expect(own.text != foreign.text, "\(own.name)")
      }
    }
  }

  @Test func persianIsWrittenInItsOwnScript() {
    for text in texts(in: .persian) {
      let persian = text.text.unicodeScalars.filter { (0x600...0x6FF).contains($0.value) }
      #expect(persian.count * 2 > text.text.unicodeScalars.count - Self.given.count, "\(text.name)")
    }
  }

  @Test(arguments: Language.allCases)
  func thePlatformsAreNamed(language: Language) {
    #expect(Messages(in: language).unknownPlatform("ios, android").contains("ios, android"))
  }

  @Test func whatTheContractFixesStays() {
    #expect(Messages.english.noCredentials == "Missing or invalid authorization header")
    #expect(Messages.english.invalidToken == "Invalid or expired access token")
    #expect(Messages.english.invalidRefreshToken == "Invalid or expired refresh token")
    #expect(
      Messages.english.codeMailed
        == "We have mailed you a code. Type it here in place of the password.")
  }

  @Test(arguments: Language.allCases)
  func whatPeopleTypeIsAskedForAndTheRestIsForTheAppToMend(language: Language) {
    let messages = Messages(in: language)
    for (field, reason, sentence) in [
      ("email", "missing", messages.email.request), ("name", "wrong_type", messages.name.request),
      ("code", "empty", messages.code.request),
      ("email", "too_long", messages.tooLong(messages.email.subject)),
      ("name", "control_character", messages.hasControls(messages.name.subject)),
      ("deviceName", "too_long", messages.tooLong(messages.sentValue("deviceName"))),
      ("deviceId", "missing", messages.notSent("deviceId")),
      ("deviceId", "must_not_be_null", messages.wrong("deviceId")),
      ("credential.response.signature", "not_base64url", messages.wrong("credential")),
      ("", "wrong_type", messages.noObject),
    ] {
      let detail = Failure.Detail(field: field, reason: reason, value: nil)
      #expect(messages.sentence(about: detail) == sentence, "\(field) \(reason)")
    }
  }
}

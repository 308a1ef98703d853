import Base
import Testing

@testable import API

/// The texts of the pages, in each language.
@Suite struct PageTextsTests {
  private static let given = "given-thing"
  private static let others = Language.allCases.filter { $0 != .english }

  private struct Text {
    let name: String
    let text: String
    var takesSomething = false
  }

  /// All texts of one room's pages.
  private func texts(of room: Any, named prefix: String) -> [Text] {
    Mirror(reflecting: room).children.flatMap { child -> [Text] in
      let name = "\(prefix).\(child.label ?? "")"
      switch child.value {
      case _ where name == "event.sentence": return []  // see sentences(in:)
      case let text as String: return [Text(name: name, text: text)]
      case let pattern as Messages.Pattern:
        return [Text(name: name, text: pattern(Self.given), takesSomething: true)]
      case let facts as [String: String]:
        return facts.map { Text(name: "\(name).\($0)", text: $1) }.sorted { $0.name < $1.name }
      case let removal as AccountSection.Texts.Removal?:
        return removal.map { texts(of: $0, named: name) } ?? []
      default: return texts(of: child.value, named: name)
      }
    }
  }

  private func sentences(in language: Language) -> [Text] {
    let texts = EventTexts(in: language)
    return AccountEvent.allCases.map { Text(name: "event.\($0)", text: texts.sentence($0)) }
      + self.texts(of: texts, named: "event")
  }

  private func texts(in language: Language) -> [Text] {
    texts(of: PageTexts(in: language), named: "page")
      + texts(of: StartTexts(in: language), named: "start")
      + texts(of: AccountTexts(in: language), named: "account")
      + texts(of: LinkTexts(in: language), named: "link")
      + sentences(in: language)
      + texts(of: WalletTexts(in: language), named: "wallet")
      + texts(of: PairingTexts(in: language), named: "pairing")
  }

  @Test(arguments: Language.allCases)
  func everyTextIsWhole(language: Language) {
    let texts = texts(in: language)
    #expect(texts.count > 240)
    #expect(texts.map(\.name) == self.texts(in: .english).map(\.name))
    for text in texts {
      #expect(!text.text.isEmpty, "\(text.name)")
      #expect(text.text == text.text.trimmed, "\(text.name)")
      #expect(text.text.contains(Self.given) == text.takesSomething, "\(text.name)")
      // The pages use the texts without escaping.
      for part in ["  ", "\n", "\\", "<", ">", "&", "\"", "'", "TODO", "(Function)"] {
        #expect(!text.text.contains(part), "\(text.name)")
      }
    }
  }

  /// Names of texts that are the same in two languages.
  private static let shared: Set = [
    "page.minutes.one", "page.minutes.other", "page.ahead", "account.notSignedIn", "link.passkey",
  ]

  @Test(arguments: others)
  func noTextIsLeftInEnglish(language: Language) {
    for (own, english) in zip(texts(in: language), texts(in: .english))
    where !Self.shared.contains(own.name) {
      #expect(own.text != english.text, "\(own.name)")
    }
  }

  @Test func persianIsWrittenInItsOwnScript() {
    for text in texts(in: .persian) {
      let letters = text.text.replacing(Self.given, with: "").unicodeScalars.filter(
        \.properties.isAlphabetic)
      let persian = letters.filter { (0x600...0x6FF).contains($0.value) }
      #expect(persian.count * 2 > letters.count, "\(text.name)")
    }
  }

  @Test(arguments: Language.allCases)
  func whatHappenedIsToldInSentences(language: Language) {
    for text in sentences(in: language) where text.name != "event.reason" {
      #expect(text.text.last == ".", "\(text.name)")
    }
  }

  @Test(arguments: Language.allCases)
  func aYearHasTwelveMonths(language: Language) {
    #expect(Set(PageTexts(in: language).months.split(separator: " ")).count == 12)
  }

  // Times and numbers --------------------------------------------------------------------------------

  @Test(arguments: [
    (
      Language.english,
      ["0 seconds", "1 second", "2 seconds", "1 minute", "2 hours", "1 day", "2 days"]
    ),
    (
      .german,
      ["0 Sekunden", "1 Sekunde", "2 Sekunden", "1 Minute", "2 Stunden", "1 Tag", "2 Tagen"]
    ),
    (
      .french,
      ["0 seconde", "1 seconde", "2 secondes", "1 minute", "2 heures", "1 jour", "2 jours"]
    ),
    (
      .spanish, ["0 segundos", "1 segundo", "2 segundos", "1 minuto", "2 horas", "1 día", "2 días"]
    ),
    (.persian, ["۰ ثانیه", "۱ ثانیه", "۲ ثانیه", "۱ دقیقه", "۲ ساعت", "۱ روز", "۲ روز"]),
  ])
  func spansAreInWords(language: Language, words: [String]) {
    let spans = [0, 1, 2, 119, 7_200, 86_400, 3 * 86_400 - 1]
    #expect(
      spans.map { Duration.seconds($0).words(in: language) } == words.map { $0 })
  }

  @Test(arguments: [
    (Language.english, "1 November 2026, 09:05 UTC", "3 days ago", "in 5 minutes"),
    (.german, "1. November 2026, 09:05 UTC", "vor 3 Tagen", "in 5 Minuten"),
    (.french, "1er novembre 2026, 09:05 UTC", "il y a 3 jours", "dans 5 minutes"),
    (.spanish, "1 de noviembre de 2026, 09:05 UTC", "hace 3 días", "dentro de 5 minutos"),
    (.persian, "۱ نوامبر ۲۰۲۶، ساعت ۰۹:۰۵ UTC", "۳ روز پیش", "تا ۵ دقیقه دیگر"),
  ])
  func timesAreInWordsAndExactBesideThem(
    language: Language, exact: String, ago: String, ahead: String
  ) {
    let time = Timestamp(seconds: 1793_523_959)
    let tag = #"<time datetime="2026-11-01T09:05:59Z""#
    #expect(time.html(in: language) == "\(tag)>\(exact)</time>")
    #expect(
      time.html(before: time + .seconds(3 * 86_400), in: language)
        == #"\#(tag) title="\#(exact)">\#(ago)</time>"#)
    #expect(
      time.html(after: time - .seconds(300), in: language)
        == #"\#(tag) title="\#(exact)">\#(ahead)</time>"#)
    // The clock was set back.
    #expect(
      time.html(before: time - .seconds(60), in: language).contains(
        language.count(0, PageTexts(in: language).seconds)))
  }

  @Test func cardsAndPhonesAreCounted() {
    for (language, one, two) in [
      (Language.english, "One card is in your wallet.", "2 cards are in your wallet."),
      (.german, "Eine Karte ist in Ihrer Wallet.", "2 Karten sind in Ihrer Wallet."),
      (.french, "1 carte est dans votre portefeuille.", "2 cartes sont dans votre portefeuille."),
      (.spanish, "Hay una tarjeta en su cartera.", "Hay 2 tarjetas en su cartera."),
      (.persian, "یک کارت در کیف پول شماست.", "۲ کارت در کیف پول شماست."),
    ] {
      let cards = WalletTexts(in: language).enrolledCards
      #expect([1, 2].map { language.count($0, cards) } == [one, two])
      let phones = PairingTexts(in: language).number
      #expect(language.count(2, phones).contains(language.digits(2)))
    }
  }
}

import Base

/// Texts of the pages of all rooms in one language: times, spans and the error page.
struct PageTexts: Sendable {
  typealias Pattern = Messages.Pattern

  /// A unit with its number, in singular and plural.
  struct Counted: Sendable {
    let one: String
    let other: Pattern

    init(_ one: String, _ other: @escaping @Sendable (String) -> String) {
      self.one = one
      self.other = Pattern(other)
    }
  }

  let days: Counted
  let hours: Counted
  let minutes: Counted
  let seconds: Counted
  /// Text around a time span before now; ``ahead`` is for a span after now.
  let ago: Pattern
  let ahead: Pattern
  /// The names of the months, separated by spaces.
  let months: String
  /// Text around the title of a page that shows a form again after an error.
  let notDone: Pattern
  let unknown: String
  let failed: String
  let toAccount: String
  let toPhones: String
}

extension PageTexts {
  init(in language: Language) {
    switch language {
    case .english: self = .english
    case .german: self = .german
    case .french: self = .french
    case .spanish: self = .spanish
    case .persian: self = .persian
    }
  }
}

extension Language {
  var isRightToLeft: Bool { self == .persian }

  /// `number` in the digits of this language.
  func digits(_ number: some CustomStringConvertible) -> String {
    guard self == .persian else { return "\(number)" }
    return String(
      String.UnicodeScalarView(
        "\(number)".unicodeScalars.map { scalar in
          "0"..."9" ~= scalar ? Unicode.Scalar(scalar.value - 0x30 + 0x6F0)! : scalar
        }))
  }

  /// `number` with its unit.
  func count(_ number: Int64, _ counted: PageTexts.Counted) -> String {
    switch number {
    case 1: counted.one
    // French uses the singular for 0.
    case 0 where self == .french: counted.one.replacing("1", with: "0")
    default: counted.other(digits(number))
    }
  }
}

extension PageTexts {
  fileprivate static let english = PageTexts(
    days: Counted("1 day") { "\($0) days" }, hours: Counted("1 hour") { "\($0) hours" },
    minutes: Counted("1 minute") { "\($0) minutes" },
    seconds: Counted("1 second") { "\($0) seconds" },
    ago: Pattern { "\($0) ago" }, ahead: Pattern { "in \($0)" },
    months: """
      January February March April May June July August September October November December
      """,
    notDone: Pattern { "\($0): not done" }, unknown: "unknown", failed: "That did not work",
    toAccount: "To your account", toPhones: "Back to the code")

  /// Spans are in the dative, after “vor” and “in”.
  fileprivate static let german = PageTexts(
    days: Counted("1 Tag") { "\($0) Tagen" }, hours: Counted("1 Stunde") { "\($0) Stunden" },
    minutes: Counted("1 Minute") { "\($0) Minuten" },
    seconds: Counted("1 Sekunde") { "\($0) Sekunden" },
    ago: Pattern { "vor \($0)" }, ahead: Pattern { "in \($0)" },
    months: """
      Januar Februar März April Mai Juni Juli August September Oktober November Dezember
      """,
    notDone: Pattern { "\($0): nicht erledigt" }, unknown: "unbekannt",
    failed: "Das hat nicht geklappt", toAccount: "Zu Ihrem Konto", toPhones: "Zurück zum Code")

  fileprivate static let french = PageTexts(
    days: Counted("1 jour") { "\($0) jours" }, hours: Counted("1 heure") { "\($0) heures" },
    minutes: Counted("1 minute") { "\($0) minutes" },
    seconds: Counted("1 seconde") { "\($0) secondes" },
    ago: Pattern { "il y a \($0)" }, ahead: Pattern { "dans \($0)" },
    months: """
      janvier février mars avril mai juin juillet août septembre octobre novembre décembre
      """,
    notDone: Pattern { "\($0) : rien n’est changé" }, unknown: "inconnue",
    failed: "Cela n’a pas marché", toAccount: "Vers votre compte", toPhones: "Retour au code")

  fileprivate static let spanish = PageTexts(
    days: Counted("1 día") { "\($0) días" }, hours: Counted("1 hora") { "\($0) horas" },
    minutes: Counted("1 minuto") { "\($0) minutos" },
    seconds: Counted("1 segundo") { "\($0) segundos" },
    ago: Pattern { "hace \($0)" }, ahead: Pattern { "dentro de \($0)" },
    months: """
      enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
      """,
    notDone: Pattern { "\($0): no se ha hecho" }, unknown: "desconocida",
    failed: "No ha funcionado", toAccount: "A su cuenta", toPhones: "Volver al código")

  /// Nouns after numbers stay singular. Months and years are of the Gregorian calendar.
  fileprivate static let persian = PageTexts(
    days: Counted("۱ روز") { "\($0) روز" }, hours: Counted("۱ ساعت") { "\($0) ساعت" },
    minutes: Counted("۱ دقیقه") { "\($0) دقیقه" }, seconds: Counted("۱ ثانیه") { "\($0) ثانیه" },
    ago: Pattern { "\($0) پیش" }, ahead: Pattern { "تا \($0) دیگر" },
    months: """
      ژانویه فوریه مارس آوریل مه ژوئن ژوئیه اوت سپتامبر اکتبر نوامبر دسامبر
      """,
    notDone: Pattern { "\($0): انجام نشد" }, unknown: "نامعلوم", failed: "این کار انجام نشد",
    toAccount: "به حساب شما", toPhones: "بازگشت به کد")
}

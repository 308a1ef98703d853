import Base

/// Texts of notifications for players in one language. A language without one of the texts does not
/// compile.
struct TurnTexts: Sendable {
  typealias Named = @Sendable (_ game: String) -> String

  let turn: Named
  /// Text for several games.
  let turns: @Sendable (_ count: Int) -> String
  let clock: Named
  let ended: Named
}

extension TurnTexts {
  init(in language: Language) {
    switch language {
    case .english: self = .english
    case .german: self = .german
    case .french: self = .french
    case .spanish: self = .spanish
    case .persian: self = .persian
    }
  }

  private static let english = TurnTexts(
    turn: { "It's your turn in: \($0)" },
    turns: { "It's your turn in \($0) games" },
    clock: { "Less than an hour left in: \($0)" },
    ended: { "Game over: \($0)" })

  private static let german = TurnTexts(
    turn: { "Sie sind am Zug: \($0)" },
    turns: { "Sie sind in \($0) Partien am Zug" },
    clock: { "Weniger als eine Stunde Bedenkzeit: \($0)" },
    ended: { "Partie beendet: \($0)" })

  private static let french = TurnTexts(
    turn: { "C’est à vous de jouer : \($0)" },
    turns: { "C’est à vous de jouer dans \($0) parties" },
    clock: { "Il vous reste moins d’une heure : \($0)" },
    ended: { "Partie terminée : \($0)" })

  private static let spanish = TurnTexts(
    turn: { "Es su turno en: \($0)" },
    turns: { "Es su turno en \($0) partidas" },
    clock: { "Le queda menos de una hora en: \($0)" },
    ended: { "Partida terminada: \($0)" })

  private static let persian = TurnTexts(
    turn: { "نوبت شماست: \(isolated($0))" },
    turns: { "در \($0) بازی نوبت شماست" },
    clock: { "کمتر از یک ساعت وقت دارید: \(isolated($0))" },
    ended: { "بازی تمام شد: \(isolated($0))" })

  /// Isolates a name with another writing direction, so that its order is kept (Unicode's FSI and
  /// PDI).
  private static func isolated(_ name: String) -> String { "\u{2068}\(name)\u{2069}" }
}

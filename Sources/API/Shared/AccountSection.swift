import Base

/// A part of the page for people: what an account has of one kind. Each family declares its own.
struct AccountSection: Sendable {
  /// What the page says of one kind, in one language.
  struct Texts: Sendable {
    /// How one of them is removed.
    struct Removal: Sendable {
      let button: String
      /// Asks whether to remove it, as a title.
      let question: String
      /// What follows, as sentences.
      let consequence: String
      /// What is said afterwards.
      let done: String
    }

    let title: String
    /// What is said where there is none.
    let none: String
    /// What stands before each column that is shown.
    let facts: [String: String]
    var removal: Removal?
  }

  /// ``Holding/name``
  let holding: String
  /// The column that names one of them.
  let heading: String
  let texts: @Sendable (Language) -> Texts

  init(
    of holding: String, heading: String, texts: @escaping @Sendable (Language) -> Texts
  ) {
    self.holding = holding
    self.heading = heading
    self.texts = texts
  }
}

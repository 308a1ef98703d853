import Base

/// A part of the account page that lists an account's items of one kind. Each family declares its own sections.
struct AccountSection: Sendable {
  /// Texts of the page for one kind, in one language.
  struct Texts: Sendable {
    /// Texts for the removal of one item.
    struct Removal: Sendable {
      let button: String
      /// Asks whether to remove it, as a title.
      let question: String
      /// The effects of the removal, as sentences.
      let consequence: String
      /// Text after the removal.
      let done: String
    }

    let title: String
    /// Text for an empty list.
    let none: String
    /// The label of each visible column.
    let facts: [String: String]
    var removal: Removal?
  }

  /// The ``AccountData/name``.
  let data: String
  /// The column with the name of an item.
  let heading: String
  let texts: @Sendable (Language) -> Texts

  init(
    of data: String, heading: String, texts: @escaping @Sendable (Language) -> Texts
  ) {
    self.data = data
    self.heading = heading
    self.texts = texts
  }
}

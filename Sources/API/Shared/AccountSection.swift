/// A part of the page for people: what an account has of one kind. Each family declares its own.
struct AccountSection: Sendable {
  /// How one of them is removed.
  struct Removal: Sendable {
    /// What stands on the button before the heading.
    let button: String
    /// What is said afterwards.
    let done: String
  }

  /// ``Holding/name``
  let holding: String
  let title: String
  /// What is said where there is none.
  let none: String
  /// The column that names one of them; nil where its time does.
  let heading: String
  /// The columns that are shown, in the order of the holding, with what stands before each.
  let facts: [String: String]
  var removal: Removal?

  init(
    of holding: String, title: String, none: String, heading: String, facts: [String: String],
    removal: Removal? = nil
  ) {
    self.holding = holding
    self.title = title
    self.none = none
    self.heading = heading
    self.facts = facts
    self.removal = removal
  }
}

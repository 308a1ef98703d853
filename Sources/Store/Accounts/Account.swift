package import Base
import MariaDB

/// A person, as the apps see one.
package struct Account: Sendable, Equatable {
  package let id: String
  /// Lower-cased.
  package let email: String
  package let name: String
  /// `wsim_` and 12 letters or digits.
  package let walletID: String
  /// Of the mails; nil where no sign-in named one.
  package let language: Language?

  /// How long an account stays whose e-mail address nobody has proven and that nobody uses.
  package static let unprovenLifetime = Duration.seconds(30 * 86_400)
}

extension Account {
  /// The columns id, email, name, wallet_id, language, in that order from 0.
  init(row: borrowing Row) {
    id = row.text(0)
    email = row.text(1)
    name = row.text(2)
    walletID = row.text(3)
    language = row.optionalText(4).flatMap { Language(rawValue: $0) }
  }
}

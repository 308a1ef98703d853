package import Base
import MariaDB

/// A person's account, as the apps see it.
package struct Account: Sendable, Equatable {
  package let id: String
  /// Lower-cased.
  package let email: String
  package let name: String
  /// `wsim_` and 12 letters or digits.
  package let walletID: String
  /// The language of mails; nil if no sign-in named one.
  package let language: Language?

  /// Lifetime of an unused account whose e-mail address is not proven.
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

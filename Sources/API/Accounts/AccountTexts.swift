import Base

/// Texts of the page `/account` in one language. Each language has a file; a file without one of the texts does
/// not compile.
struct AccountTexts: Sendable {
  typealias Pattern = Messages.Pattern

  /// Texts after a form, or for the `done` word in the page's address.
  struct Notes: Sendable {
    let nameChanged: String
    let linkMailed: String
    let signedOut: String
    let deleted: String
    let stale: String
    let signInFirst: String
    let gone: String
    let proofTooOld: String
  }

  let title: String

  // Signing in
  let intro: String
  let email: String
  let mailCode: String
  let withPasskey: String
  let passkeyButton: String
  let passkeyNeedsScript: String
  let noPasskey: String
  let codeTitle: String
  let codeIntro: String
  let code: String
  let signIn: String
  let startAgain: String
  let signInAgain: String

  // The overview
  /// Text before the address.
  let signedInAs: String
  let signOut: String
  let about: String
  let name: String
  let changeName: String
  let changeAddress: String
  let addressRule: String
  /// Text around an address that its owner has not confirmed yet.
  let pendingAddress: Pattern
  let everything: String
  let download: String
  let delete: String
  let thisBrowser: String
  let unknownAddress: String
  /// Text for a device without a session.
  let notSignedIn: String
  /// Text around a time.
  let signedInUntil: Pattern

  // Removing and deleting
  let keep: String
  let onlySignOut: String
  let deletionTitle: String
  /// Text around the address.
  let deletionIntro: Pattern
  let deleteButton: String
  let keepAccount: String

  let notes: Notes
  let devices: AccountSection.Texts
  let browsers: AccountSection.Texts
  let passkeys: AccountSection.Texts
  let events: AccountSection.Texts
  /// Text after signing out a device that stays in the account.
  let signedOutDevice: String
}

extension AccountTexts {
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

import Base

/// All texts of the mails in one language. Each language has a file; a file without one of the
/// texts does not compile.
struct MailTexts: Sendable {
  struct Text: Sendable {
    let subject: String
    let body: String

    init(_ subject: String, _ body: String) {
      self.subject = subject
      self.body = body
    }
  }

  /// Text before the code on the first line.
  let codeIs: String
  let loginCode: Text
  /// Warning for a code that gives the account to the owner of the address.
  let handsOver: String
  /// Stands before the link to the confirmation page.
  let confirmation: Text
  let newDevice: Text
  let passkeyAdded: Text
  let biometricKeyAdded: Text
  let refreshReused: Text
  /// Stands before the link to the confirmation page.
  let addressChange: Text
  let addressChangeBegun: Text
  let addressChanged: Text
  let deviceRenewed: Text
  let accountDeleted: Text
  let browserSignedIn: Text
  let keysRemoved: Text
  let accountBanned: Text
  let accountUnbanned: Text
  /// Stands before the list of what opens the account.
  let addressProven: Text
  /// Stands before the link that removes all of it.
  let removeAll: String
  /// Labels in that list.
  let biometricKey: String
  let passkey: String
  /// Stands before the link that ends a session and removes what it added.
  let ifItWasNotYou: String
  /// Labels for the lines about the cause of the mail.
  let device: String
  let address: String
  let time: String
}

extension MailTexts {
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

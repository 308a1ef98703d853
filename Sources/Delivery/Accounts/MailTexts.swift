import Base

/// All texts of the mails in one language. Each language has a file; one that leaves a text out does not
/// compile.
struct MailTexts: Sendable {
  struct Text: Sendable {
    let subject: String
    let body: String

    init(_ subject: String, _ body: String) {
      self.subject = subject
      self.body = body
    }
  }

  /// What stands before the code, on the first line.
  let codeIs: String
  let loginCode: Text
  /// Of a code that hands the account over.
  let handsOver: String
  /// What follows is the link to the page that asks.
  let confirmation: Text
  let newDevice: Text
  let passkeyAdded: Text
  let biometricKeyAdded: Text
  let refreshReused: Text
  /// What follows is the link to the page that asks.
  let addressChange: Text
  let addressChanged: Text
  let deviceRenewed: Text
  let accountDeleted: Text
  let browserSignedIn: Text
  let keysRemoved: Text
  let accountBanned: Text
  let accountUnbanned: Text
  /// Stands before the link that ends a session and removes what it added.
  let ifItWasNotYou: String
  /// The names of the lines that say who caused the mail.
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

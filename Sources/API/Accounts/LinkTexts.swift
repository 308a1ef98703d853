import Base

/// Texts, in one language, of the pages behind the links in mails. Each language has a file.
struct LinkTexts: Sendable {
  // Is this account yours?
  let isThisYou: String
  let somebodyCreated: String
  let address: String
  let phone: String
  let when: String
  let from: String
  let thisIsMe: String
  let thisIsNotMe: String
  let creationRule: String
  let thanks: String
  let confirmed: String
  let denied: String
  let nobodyUses: String
  let nothingToConfirm: String
  let usedBefore: String

  // Should this account get this address?
  let useAddress: String
  let somebodyWants: String
  let newAddress: String
  let name: String
  let noPhone: String
  let accountSince: String
  let onlyIfYours: String
  let useButton: String
  let otherwise: String
  let addressChanged: String
  let hasNewAddress: String
  let nothingToChange: String
  let addressGone: String

  // Should a sign-in end?
  let wasThisNotYou: String
  let device: String
  let signedIn: String
  let endDevice: String
  let endBrowsers: String
  let ifItWasYou: String
  let passkeyGoesToo: String
  let undone: String
  let deviceOut: String
  let passkeyRemoved: String
  let browsersOut: String
  let watchYourMail: String
  let keepAddress: String
  let askerGoesToo: String
  let addressStays: String
  /// Stands before the list of what opens the account.
  let hasAccess: String
  let biometricKey: String
  let passkey: String
  let removeAll: String
  let allGo: String
  let allRemoved: String
  let nothingToEnd: String
  let outAlready: String
}

extension LinkTexts {
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

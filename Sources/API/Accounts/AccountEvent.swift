import Base

/// An event of an account in the audit log; the raw value is the log's word. Each language has a sentence for each event.
enum AccountEvent: String, CaseIterable {
  case accountBanned = "account_banned"
  case accountConfirmed = "account_confirmed"
  case accountCreated = "account_created"
  case accountDeleted = "account_deleted"
  case accountDenied = "account_denied"
  case accountHandedOver = "account_handed_over"
  case accountUnbanned = "account_unbanned"
  case addressChangeBegun = "address_change_begun"
  case addressChanged = "address_changed"
  case biometricDisabled = "biometric_disabled"
  case biometricEnabled = "biometric_enabled"
  case biometricLocked = "biometric_locked"
  case biometricRefused = "biometric_refused"
  case codeDead = "code_dead"
  case codeRefused = "code_refused"
  case codeRequested = "code_requested"
  case credentialRefused = "credential_refused"
  case deviceRegistered = "device_registered"
  case deviceRenamed = "device_renamed"
  case deviceRevoked = "device_revoked"
  case emailProven = "email_proven"
  case logout
  case passkeyAdded = "passkey_added"
  case passkeyCloned = "passkey_cloned"
  case passkeyRefused = "passkey_refused"
  case passkeyRemoved = "passkey_removed"
  case passkeyRenamed = "passkey_renamed"
  case profileChanged = "profile_changed"
  case pushTokenRemoved = "push_token_removed"
  case pushTokenSet = "push_token_set"
  case refreshRefused = "refresh_refused"
  case refreshRepeated = "refresh_repeated"
  case refreshReuse = "refresh_reuse"
  case refreshed
  case signIn = "sign_in"
  case signInRefused = "sign_in_refused"

  case preferencesWritten = "preferences_written"

  case keyBound = "key_bound"
  case writeRefused = "write_refused"

  case bankEnrolled = "bank_enrolled"
  case bankEnrollmentBegun = "bank_enrollment_begun"
  case bankRefused = "bank_refused"
  case cardDefault = "card_default"
  case cardRemoved = "card_removed"
  case enrollmentRemoved = "enrollment_removed"
  case paymentBegun = "payment_begun"
  case paymentCancelled = "payment_cancelled"
  case paymentConfirmed = "payment_confirmed"
  case paymentRefunded = "payment_refunded"
  case paymentRefused = "payment_refused"
}

/// Texts of the list of events in one language. Each language has a file.
struct EventTexts: Sendable {
  let sentence: @Sendable (AccountEvent) -> String
  /// Text for an event that this version does not know.
  let other: String
  let byAdministrator: String
  let byLink: String
  let inBrowser: String
  /// Text before the administrator's reason.
  let reason: String
}

extension EventTexts {
  init(in language: Language) {
    switch language {
    case .english: self = .english
    case .german: self = .german
    case .french: self = .french
    case .spanish: self = .spanish
    case .persian: self = .persian
    }
  }

  /// - Parameter name: The word of the event in the audit log.
  func sentence(named name: String) -> String {
    AccountEvent(rawValue: name).map(sentence) ?? other
  }

  /// The cause or the place of an event as HTML, from the log's detail; empty if the detail is only for administrators.
  func circumstance(of name: String, detail: String) -> String {
    switch AccountEvent(rawValue: name) {
    case .accountBanned, .accountUnbanned: detail.isEmpty ? "" : "\(reason) \(detail.pageText)"
    case _ where detail.hasPrefix("by an administrator"),
      _ where detail.hasSuffix("by an administrator"):
      byAdministrator
    case _ where detail.hasSuffix("by the link in a mail"): byLink
    case _ where detail.hasPrefix("account page"), _ where detail.hasSuffix("on the account page"):
      inBrowser
    default: ""
    }
  }
}

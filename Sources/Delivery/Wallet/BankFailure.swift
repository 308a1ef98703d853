import Store

/// Why a bank gave no cards.
struct BankFailure: Error, Equatable {
  /// What the app is told.
  let failure: EnrollmentFailure
  /// In words, without secrets.
  let reason: String

  static func bankRefused(_ reason: String) -> BankFailure {
    BankFailure(failure: .bankRefused, reason: reason)
  }

  static func bankUnavailable(_ reason: String) -> BankFailure {
    BankFailure(failure: .bankUnavailable, reason: reason)
  }
}

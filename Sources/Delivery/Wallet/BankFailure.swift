import Store

/// Reason why a bank returned no cards.
struct BankFailure: Error, Equatable {
  /// Failure that the app is told.
  let failure: EnrollmentFailure
  /// Text for administrators, without secrets.
  let reason: String

  static func bankRefused(_ reason: String) -> BankFailure {
    BankFailure(failure: .bankRefused, reason: reason)
  }

  static func bankUnavailable(_ reason: String) -> BankFailure {
    BankFailure(failure: .bankUnavailable, reason: reason)
  }
}

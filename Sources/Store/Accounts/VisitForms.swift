import Base
import MariaDB

/// Actions of the forms on the account page. Each spends its token in the transaction of the
/// action.
extension AccountVisits {
  /// - Throws: ``FormRefusal``.
  package func rename(to name: String, by form: SentForm) throws {
    try records.answering(form) { transaction, account in
      try transaction.profiles.rename(account, to: name, by: nil)
    }
  }

  /// Asks by mail whether the account is to get another address. Entering the current address
  /// withdraws an earlier request.
  ///
  /// - Throws: ``FormRefusal``; ``RateLimited``.
  package func changeAddress(by form: SentForm, to new: NewAddressChange) throws {
    try records.answering(form, needsFreshProof: true) { transaction, account in
      guard let account = try transaction.accounts.find(id: account) else { return }
      try transaction.addressChanges.begin(new, of: account, by: nil)
    }
  }

  /// Removes one item of the account that is signed in.
  ///
  /// - Parameter kind: a ``AccountData/name``.
  /// - Throws: ``FormRefusal``, ``FormRefusal/gone`` also for an unknown kind.
  package func remove(_ id: String, ofKind kind: String, by form: SentForm) throws {
    let data = records.database.rooms.flatMap(\.accountData).first { "\($0.name)" == kind }
    try records.answering(form, needsFreshProof: data?.removalNeedsProof ?? false) {
      transaction, account in
      guard let remove = data?.remove, id.isUUID, try remove(transaction, id, account) else {
        throw FormRefusal.gone
      }
    }
  }

  /// Deletes the account that is signed in, with everything that it owns.
  ///
  /// - Throws: ``FormRefusal``.
  package func deleteAccount(by form: SentForm) throws {
    try records.answering(form, needsFreshProof: true) { transaction, account in
      _ = try transaction.accounts.delete(account, by: nil)
    }
  }
}

extension String {
  /// Whether the string is a UUID in lower case: to the database, other text is an error.
  fileprivate var isUUID: Bool {
    let groups = split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && groups.allSatisfy {
        $0.utf8.allSatisfy { $0.hexDigitValue != nil && !$0.isUppercaseLetter }
      }
  }
}

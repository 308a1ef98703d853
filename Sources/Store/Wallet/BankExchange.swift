package import Base

/// The job of a callback: exchanges a code at a bank, and stores the cards that the code gives
/// access to.
package struct BankExchange: JSONStored, Sendable {
  /// The id of the state that was spent.
  package let enrollmentID: String
  package let sealedCode: String
  /// The redirect URI that the bank was told when we sent the person there (RFC 6749 §4.1.3).
  package let redirectURI: String
  /// The person's device, for the audit log.
  package let deviceID: String
  /// The person's address, for the audit log.
  package let address: String

  package init(
    enrollmentID: String, sealedCode: String, redirectURI: String, deviceID: String, address: String
  ) {
    self.enrollmentID = enrollmentID
    self.sealedCode = sealedCode
    self.redirectURI = redirectURI
    self.deviceID = deviceID
    self.address = address
  }

  package func write(to object: inout JSONWriter) {
    object.member("enrollmentID", enrollmentID)
    object.member("sealedCode", sealedCode)
    object.member("redirectURI", redirectURI)
    object.member("deviceID", deviceID)
    object.member("address", address)
  }

  /// The context that the code is sealed with.
  package static func sealingContext(ofCode id: String) -> String { "enrollment code \(id)" }
}

/// The result of an enrollment.
package enum EnrollmentResult: JSONStored, Sendable, Equatable {
  case enrolled(cards: Int)
  case failed(EnrollmentFailure)

  package func write(to object: inout JSONWriter) {
    // The form that the compiler decodes.
    switch self {
    case .enrolled(let cards):
      object.member("enrolled", object: { $0.member("cards", Int64(cards)) })
    case .failed(let failure):
      object.member("failed", object: { $0.member("_0", failure.rawValue) })
    }
  }
}

/// The words for the app.
package enum EnrollmentFailure: String, Decodable, Sendable {
  case invalidState = "invalid_state"
  case userCancelled = "user_cancelled"
  /// The bank refused.
  case bankRefused = "bank_refused"
  /// The bank did not answer in time, or its answer cannot be read.
  case bankUnavailable = "bank_unavailable"
  /// We did not answer in time.
  case noAnswer = "no_answer"
}

/// The data of its enrollment and its bank that an exchange needs.
package struct PendingEnrollment: Sendable {
  package let accountID: String
  package let bsimID: String
  /// SHA-256
  package let nonceHash: [UInt8]
  package let sealedVerifier: String
  package let tokenURL: ForeignURL
  package let cardsURL: ForeignURL
  package let clientID: String
  package let sealedSecret: String
  /// The time that the person has waited, by the database's clock.
  package let age: Duration
}

/// A card as a bank describes it.
package struct BankCard: Sendable, Equatable {
  /// The bank's own id, 1 to 128 characters.
  package let id: String
  /// Digits
  package let lastFour: String
  /// In capitals, 1 to 20 characters.
  package let cardType: String
  /// 1 to 12
  package let expiryMonth: Int64
  /// 2000 to 2199
  package let expiryYear: Int64

  package init(
    id: String, lastFour: String, cardType: String, expiryMonth: Int64, expiryYear: Int64
  ) {
    self.id = id
    self.lastFour = lastFour
    self.cardType = cardType
    self.expiryMonth = expiryMonth
    self.expiryYear = expiryYear
  }
}

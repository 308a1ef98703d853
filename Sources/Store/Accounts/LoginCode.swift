package import Base

/// A mailed code, as it is stored.
package struct NewLoginCode: Sendable {
  /// Lower-cased.
  package let email: String
  /// SHA-256 of the challenge that the app gets.
  package let challengeHash: [UInt8]
  /// HMAC of the code, bound to e-mail and device.
  package let codeMAC: [UInt8]
  /// The id of the mail's row in the outbox.
  package let mailID: String
  /// The code itself, for the mail.
  package let digits: String
  package let expiresAt: Timestamp

  package init(
    email: String, challengeHash: [UInt8], codeMAC: [UInt8], mailID: String, digits: String,
    expiresAt: Timestamp
  ) {
    self.email = email
    self.challengeHash = challengeHash
    self.codeMAC = codeMAC
    self.mailID = mailID
    self.digits = digits
    self.expiresAt = expiresAt
  }
}

/// The next step of a sign-in.
package enum SignInStart: Sendable, Equatable {
  case codeMailed
  /// With one of these passkeys, named by their ids as authenticators know them.
  case passkey(offered: [[UInt8]])
  /// The device is neither registered nor described.
  case deviceUnknown
}

/// The way in which a request names a code.
package enum LoginCodeName: Sendable {
  case email(String)
  /// SHA-256 of the challenge.
  case challenge([UInt8])
}

package import Base
package import Cryptography
import MariaDB

/// A payment that an app has begun, before it is confirmed.
package struct NewPayment: Sendable {
  /// `pay_` and 22 characters of base64url.
  package let id: String
  /// SHA-256 of the challenge.
  package let challengeHash: [UInt8]
  package let cardID: String
  package let amount: Amount
  /// Three capital letters (ISO 4217).
  package let currency: String
  /// The merchant's own; 1 to 200 characters.
  package let orderID: String?
  package let expiresAt: Timestamp

  package init(
    id: String, challengeHash: [UInt8], cardID: String, amount: Amount, currency: String,
    orderID: String?, expiresAt: Timestamp
  ) {
    self.id = id
    self.challengeHash = challengeHash
    self.cardID = cardID
    self.amount = amount
    self.currency = currency
    self.orderID = orderID
    self.expiresAt = expiresAt
  }
}

/// The card that a payment is made with, as it is shown.
package struct PaymentCard: Sendable {
  package let id: String
  package let lastFour: String
  /// VISA, MASTERCARD, AMEX, DISCOVER, DEBIT
  package let cardType: String
}

/// What a confirmed payment says.
package struct Payment: Sendable {
  package let id: String
  package let card: PaymentCard
  /// By which the merchant knows the card again, and no other does.
  package let cardToken: String
  package let amount: Amount
  package let currency: String
  package let orderID: String?
}

/// What names a payment that somebody confirms.
package struct PaymentName: Sendable {
  package let id: String
  package let merchantID: String
  /// The challenges that the payment may have, 32 bytes each: one for each key.
  package let challenges: [[UInt8]]
  /// What the card is called at the merchant, if it has no name there yet.
  package let newCardToken: String

  package init(id: String, merchantID: String, challenges: [[UInt8]], newCardToken: String) {
    self.id = id
    self.merchantID = merchantID
    self.challenges = challenges
    self.newCardToken = newCardToken
  }
}

/// Why a payment is not confirmed.
package enum PaymentRefusal: Error, Equatable {
  /// It is unknown, another's, expired, or dead after five tries; or its card has gone.
  case notOpen
  /// It has been confirmed before.
  case alreadyConfirmed
  /// The device is not the caller's, or has no key.
  case unknownKey
  /// What should confirm it is wrong.
  case unproven
}

extension Database {
  /// Begins a payment with a card of the caller's account.
  ///
  /// - Throws: ``Refusal``.
  /// - Returns: the card; nil where the account has no such card.
  package func begin(
    _ payment: NewPayment, at merchant: String, by caller: Caller, at now: Timestamp
  ) throws -> PaymentCard? {
    try pool.transaction { connection in
      let session = try connection.live(caller, at: now)
      guard let card = try connection.activeCard(payment.cardID, of: caller.accountID) else {
        return nil
      }
      try connection.insert(payment, at: merchant, by: caller.accountID, at: now)
      try connection.audit(
        .paymentBegun, account: caller.accountID, device: session.deviceID, detail: payment.id,
        from: caller.origin, at: now)
      return card
    }
  }

  /// Confirms a payment, once, with a signature of its challenge by the biometric key of the caller's device.
  /// Before it is verified a try is counted, for the payment and for the device.
  ///
  /// - Parameter signature: DER in base64.
  /// - Throws: ``PaymentRefusal``; ``Refusal``, of which ``Refusal/rateLimited(retryAfter:)`` for 15 minutes
  ///   after the fifth wrong signature on the device, of whatever challenge.
  package func confirm(
    _ name: PaymentName, withSignature signature: String, onDevice clientDeviceID: String,
    by caller: Caller, at now: Timestamp
  ) throws -> Payment {
    let (key, challenge, tries) = try pool.transaction { connection in
      let session = try connection.live(caller, at: now)
      guard clientDeviceID == caller.clientDeviceID,
        let key = try connection.biometricKeys(on: clientDeviceID)
          .first(where: { $0.deviceID == session.deviceID })
      else { throw PaymentRefusal.unknownKey }
      if let rest = try connection.biometricLock(on: clientDeviceID, at: now) {
        throw Refusal.rateLimited(retryAfter: rest)
      }
      let challenge = try connection.countTry(of: name, by: caller, at: now)
      let tries = try connection.countBiometricTry(on: clientDeviceID, at: now)
      return (key, challenge, tries)
    }
    guard try BiometricKey(base64: key.publicKey).isSignature(signature, of: challenge) else {
      try pool.transaction { connection in
        try connection.auditWrongSignature(of: [key], try: tries, from: caller.origin, at: now)
        try connection.auditUnproven(name, .biometric, by: caller, on: key.deviceID, at: now)
      }
      throw PaymentRefusal.unproven
    }
    // On its own: what refuses the payment below does not make the signature wrong.
    try pool.write { connection in try connection.forgetBiometricTries(on: clientDeviceID) }
    return try pool.transaction { connection in
      guard try connection.hold(key) else { throw Refusal.sessionEnded }
      return try connection.confirm(name, by: .biometric, of: caller, on: key.deviceID, at: now)
    }
  }
}

extension Database {
  /// Confirms a payment, once, with an assertion of its challenge by a passkey of the caller's account. Before it
  /// is verified a try is counted.
  ///
  /// - Throws: ``PaymentRefusal``; ``Refusal``.
  package func confirm(
    _ name: PaymentName, with assertion: PasskeyAssertion, at party: RelyingParty,
    by caller: Caller, at now: Timestamp
  ) throws -> Payment {
    let (challenge, passkey, deviceID) = try pool.transaction { connection in
      let session = try connection.live(caller, at: now)
      let challenge = try connection.countTry(of: name, by: caller, at: now)
      let passkey = try connection.passkey(
        withCredentialID: assertion.credentialID, of: caller.accountID)
      return (challenge, passkey, session.deviceID)
    }
    do {
      let use = try party.verify(
        assertion, by: passkey, of: caller.accountID, challengeHash: sha256(challenge))
      return try pool.transaction { connection in
        // First: of two that are sent with one assertion the other finds the payment confirmed, not a clone.
        let payment = try connection.confirm(
          name, by: .passkey, of: caller, on: deviceID, at: now)
        guard let passkey else { throw WebAuthnError.credential }
        if let error = try connection.record(use, of: passkey, at: now) { throw error }
        return payment
      }
    } catch let error as WebAuthnError {
      try pool.transaction { connection in
        try connection.auditRefusal(
          error, in: "payment", account: caller.accountID, device: deviceID, from: caller.origin,
          at: now)
        try connection.auditUnproven(name, .passkey, by: caller, on: deviceID, at: now)
      }
      throw PaymentRefusal.unproven
    }
  }
}

/// By what a payment is confirmed.
enum PaymentProof: String {
  case biometric, passkey
}

extension Connection {
  /// The card, unless it is another account's or has been removed.
  fileprivate func activeCard(
    _ id: String, of account: String
  ) throws(DatabaseError) -> PaymentCard? {
    try row(
      """
      SELECT c.id, c.last_four, c.card_type FROM cards c JOIN enrollments e ON e.id = c.enrollment_id
      WHERE c.id = ? AND c.active AND e.account_id = ?
      """,
      [.text(id), .text(account)]
    ) { row in PaymentCard(id: row.text(0), lastFour: row.text(1), cardType: row.text(2)) }
  }

  fileprivate func insert(
    _ payment: NewPayment, at merchant: String, by account: String, at now: Timestamp
  ) throws(DatabaseError) {
    _ = try execute(
      """
      INSERT INTO payments (id, merchant_id, account_id, card_id, amount, currency, order_id,
        challenge_hash, created_at, expires_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(payment.id), .text(merchant), .text(account), .text(payment.cardID),
        .text(payment.amount.text), .text(payment.currency), .text(payment.orderID),
        .bytes(payment.challengeHash), .time(now), .time(payment.expiresAt),
      ])
  }

  /// Counts a try of an open payment.
  ///
  /// - Throws: ``PaymentRefusal``, after which nothing is counted.
  /// - Returns: its challenge.
  func countTry(
    of name: PaymentName, by caller: Caller, at now: Timestamp
  ) throws -> [UInt8] {
    let counted = try execute(
      """
      UPDATE payments SET attempts = attempts + 1
      WHERE id = ? AND merchant_id = ? AND account_id = ? AND attempts < 5 AND confirmed_at IS NULL
        AND expires_at > ?
      """,
      [.text(name.id), .text(name.merchantID), .text(caller.accountID), .time(now)])
    // FOR UPDATE: as it is, and not as it was when the transaction first read, before another confirmed it.
    let found = try row(
      """
      SELECT challenge_hash, confirmed_at IS NOT NULL FROM payments
      WHERE id = ? AND merchant_id = ? AND account_id = ? FOR UPDATE
      """,
      [.text(name.id), .text(name.merchantID), .text(caller.accountID)]
    ) { row in (challengeHash: row.bytes(0), isConfirmed: row.boolean(1)) }
    guard let found else { throw PaymentRefusal.notOpen }
    guard !found.isConfirmed else { throw PaymentRefusal.alreadyConfirmed }
    guard counted == 1,
      let challenge = name.challenges.first(where: {
        isEqualInConstantTime(sha256($0), found.challengeHash)
      })
    else { throw PaymentRefusal.notOpen }
    return challenge
  }

  /// Confirms a payment whose proof has been verified.
  ///
  /// - Throws: ``PaymentRefusal``, where another call has confirmed it, or its card has gone.
  func confirm(
    _ name: PaymentName, by proof: PaymentProof, of caller: Caller, on deviceID: String,
    at now: Timestamp
  ) throws -> Payment {
    let confirmed = try execute(
      """
      UPDATE payments SET confirmed_at = ?, confirmed_by = ?
      WHERE id = ? AND confirmed_at IS NULL AND expires_at > ?
      """,
      [.time(now), .text(proof.rawValue), .text(name.id), .time(now)])
    guard confirmed == 1 else { throw PaymentRefusal.alreadyConfirmed }
    let token = try row(
      """
      INSERT INTO card_tokens (card_id, merchant_id, token)
      SELECT c.id, p.merchant_id, ? FROM payments p JOIN cards c ON c.id = p.card_id
      WHERE p.id = ? AND c.active
      ON DUPLICATE KEY UPDATE token = card_tokens.token
      RETURNING token
      """,
      [.text(name.newCardToken), .text(name.id)]
    ) { row in row.text(0) }
    guard let token else { throw PaymentRefusal.notOpen }
    let payment = try row(
      """
      SELECT p.amount, p.currency, p.order_id, c.id, c.last_four, c.card_type
      FROM payments p JOIN cards c ON c.id = p.card_id WHERE p.id = ?
      """,
      [.text(name.id)]
    ) { row in
      Payment(
        id: name.id,
        card: PaymentCard(id: row.text(3), lastFour: row.text(4), cardType: row.text(5)),
        cardToken: token, amount: Amount(decimal: row.text(0)), currency: row.text(1),
        orderID: row.optionalText(2))
    }
    guard let payment else { throw PaymentRefusal.notOpen }
    try audit(
      .paymentConfirmed, account: caller.accountID, device: deviceID,
      detail: "\(name.id) \(proof.rawValue)", from: caller.origin, at: now)
    return payment
  }

  func auditUnproven(
    _ name: PaymentName, _ proof: PaymentProof, by caller: Caller, on deviceID: String,
    at now: Timestamp
  ) throws(DatabaseError) {
    try audit(
      .paymentRefused, account: caller.accountID, device: deviceID,
      detail: "\(name.id) \(proof.rawValue)", from: caller.origin, at: now)
  }
}

import Base
import Cryptography
import MariaDB

/// The errand of a callback: to exchange a code at a bank, and to store the cards that it opens.
package struct BankExchange: Codable, Sendable {
  /// Of the state that was spent.
  package let enrollmentID: String
  package let sealedCode: String
  /// As the bank was told when the person was sent there (RFC 6749 §4.1.3).
  package let redirectURI: String
  /// Of the person, for the audit log.
  package let deviceID: String
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

  /// What the sealed code is bound to.
  package static func sealingContext(ofCode id: String) -> String { "enrollment code \(id)" }
}

/// How an enrolment ended.
package enum EnrollmentEnd: Codable, Sendable, Equatable {
  case enrolled(cards: Int)
  case failed(EnrollmentFailure)
}

/// The words that the app is told.
package enum EnrollmentFailure: String, Codable, Sendable {
  case invalidState = "invalid_state"
  case userCancelled = "user_cancelled"
  /// The bank said no.
  case bankRefused = "bank_refused"
  /// The bank said nothing, too late, or nothing that can be read.
  case bankUnavailable = "bank_unavailable"
  /// We said nothing in time.
  case noAnswer = "no_answer"
}

/// All that an exchange needs to know.
package struct EnrollmentInHand: Sendable {
  package let accountID: String
  package let bsimID: String
  /// SHA-256
  package let nonceHash: [UInt8]
  package let sealedVerifier: String
  package let tokenURL: String
  package let cardsURL: String
  package let clientID: String
  package let sealedSecret: String
  /// How long somebody has waited, by the database's clock.
  package let age: Duration
}

/// A card as a bank tells of it.
package struct BankCard: Sendable, Equatable {
  /// Made by the bank, 1 to 128 characters.
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

extension Database {
  /// What the exchange needs; nil where the account or the bank has gone meanwhile.
  package func enrollmentInHand(_ exchange: BankExchange, of errand: Errand) throws
    -> EnrollmentInHand?
  {
    try pool.read { connection in
      try connection.row(
        """
        SELECT s.account_id, s.bsim_id, s.nonce_hash, s.verifier, b.token_url, b.cards_url, b.client_id,
          b.client_secret, TIMESTAMPDIFF(MICROSECOND, r.created_at, UTC_TIMESTAMP(3)) DIV 1000
        FROM errands r
        JOIN enrollment_states s ON s.id = ?
        JOIN banks b ON b.bsim_id = s.bsim_id
        WHERE r.id = ? AND b.token_url IS NOT NULL
        """,
        [.text(exchange.enrollmentID), .text(errand.id)]
      ) { row in
        EnrollmentInHand(
          accountID: row.text(0), bsimID: row.text(1), nonceHash: row.bytes(2),
          sealedVerifier: row.text(3), tokenURL: row.text(4), cardsURL: row.text(5),
          clientID: row.text(6), sealedSecret: row.text(7), age: .milliseconds(row.integer(8)))
      }
    }
  }

  /// Enrols the account with these cards, all in one with the errand's end: what is stored has been
  /// told, or is about to be.
  ///
  /// A bank that was enrolled before has its cards updated: those that are gone leave the wallet, those
  /// that are back return, and the default stays where it can.
  ///
  /// - Returns: false where the errand is another pass's, or nobody waits for it any more; nothing is
  ///   stored then.
  package func enroll(
    _ enrollment: EnrollmentInHand, with cards: [BankCard], by exchange: BankExchange,
    in errand: Errand, at now: Timestamp
  ) throws -> Bool {
    let end = try Errand.json(EnrollmentEnd.enrolled(cards: cards.count))
    return try finish(errand, with: end) { connection in
      let account = enrollment.accountID
      try connection.holdCards(of: account)
      let id = try connection.enroll(account, at: enrollment.bsimID, now)
      try connection.store(cards, of: id, at: now)
      try connection.chooseDefault(of: account)
      try connection.audit(
        .bankEnrolled, account: account, device: exchange.deviceID,
        detail: "\(enrollment.bsimID): \(cards.count) cards", from: exchange.origin(of: errand),
        at: now)
    }
  }

  /// Ends the errand of an enrolment that has failed.
  ///
  /// - Parameters:
  ///   - bsimID: nil where it is not known any more.
  ///   - reason: in words, no secret.
  /// - Returns: false where the errand is another pass's, or nobody waits for it any more.
  package func end(
    _ exchange: BankExchange, of enrollment: EnrollmentInHand?, with failure: EnrollmentFailure,
    because reason: String, in errand: Errand, at now: Timestamp
  ) throws -> Bool {
    let end = try Errand.json(EnrollmentEnd.failed(failure))
    return try finish(errand, with: end) { connection in
      try connection.audit(
        .bankRefused, account: enrollment?.accountID, device: exchange.deviceID,
        detail: "\(enrollment?.bsimID ?? "no bank"): \(failure.rawValue), \(reason)",
        from: exchange.origin(of: errand), at: now)
    }
  }
}

extension BankExchange {
  fileprivate func origin(of errand: Errand) -> Origin {
    Origin(requestID: errand.requestID, address: address)
  }
}

extension Connection {
  /// - Returns: the enrolment's id.
  fileprivate func enroll(
    _ account: String, at bsimID: String, _ now: Timestamp
  ) throws(DatabaseError) -> String {
    _ = try execute(
      """
      INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at) VALUES (?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE enrolled_at = IF(removed_at IS NULL, enrolled_at, VALUES(enrolled_at)),
        removed_at = NULL
      """,
      [
        .text(timeOrderedUUID(milliseconds: now.milliseconds)), .text(account), .text(bsimID),
        .time(now),
      ])
    return try row(
      "SELECT id FROM enrollments WHERE account_id = ? AND bsim_id = ?",
      [.text(account), .text(bsimID)]
    ) { row in row.text(0) }!  // written just now
  }

  fileprivate func store(
    _ cards: [BankCard], of enrollment: String, at now: Timestamp
  ) throws(DatabaseError) {
    let known = try rows(
      "SELECT id, bank_card_id FROM cards WHERE enrollment_id = ? AND active", [.text(enrollment)]
    ) { row in (id: row.text(0), bankID: row.optionalText(1)) }
    let told = Set(cards.map(\.id))
    for card in known where card.bankID.map(told.contains) != true {
      _ = try execute(
        "UPDATE cards SET active = FALSE, is_default = FALSE WHERE id = ?", [.text(card.id)])
    }
    for (number, card) in cards.enumerated() {
      // Of cards that were added together the first is the newest: the ids follow the bank's order.
      let id = timeOrderedUUID(milliseconds: now.milliseconds + Int64(number))
      _ = try execute(
        """
        INSERT INTO cards (id, enrollment_id, bank_card_id, last_four, card_type, expiry_month,
          expiry_year, added_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON DUPLICATE KEY UPDATE last_four = VALUES(last_four), card_type = VALUES(card_type),
          expiry_month = VALUES(expiry_month), expiry_year = VALUES(expiry_year),
          added_at = IF(active, added_at, VALUES(added_at)), active = TRUE
        """,
        [
          .text(id), .text(enrollment), .text(card.id), .text(card.lastFour), .text(card.cardType),
          .integer(card.expiryMonth), .integer(card.expiryYear), .time(now),
        ])
    }
  }
}

import Base
import Cryptography
import MariaDB

/// Enrollments as the companion finishes them.
extension Enrollments {
  /// The data for the exchange; nil if the account or the bank is gone.
  package func pending(_ exchange: BankExchange, of job: Job) throws -> PendingEnrollment? {
    try records.read { transaction in
      try transaction.connection.row(
        """
        SELECT s.account_id, s.bsim_id, s.nonce_hash, s.verifier, b.token_url, b.cards_url, b.client_id,
          b.client_secret, TIMESTAMPDIFF(MICROSECOND, j.created_at, UTC_TIMESTAMP(3)) DIV 1000
        FROM jobs j
        JOIN enrollment_states s ON s.id = ?
        JOIN banks b ON b.bsim_id = s.bsim_id
        WHERE j.id = ? AND b.token_url IS NOT NULL
        """,
        [.text(exchange.enrollmentID), .text(job.id)]
      ) { row in
        PendingEnrollment(
          accountID: row.text(0), bsimID: row.text(1), nonceHash: row.bytes(2),
          sealedVerifier: row.text(3), tokenURL: ForeignURL(row.text(4)),
          cardsURL: ForeignURL(row.text(5)), clientID: row.text(6), sealedSecret: row.text(7),
          age: .milliseconds(row.integer(8)))
      }
    }
  }

  /// Enrolls the account with these cards and finishes the job, in one transaction: the person is
  /// told of exactly what is stored, also one whose request has ended and who comes back.
  ///
  /// If the account was enrolled at the bank before, its cards are updated: cards that the bank no
  /// longer lists leave the wallet, cards that it lists again return, and the default stays if it
  /// can.
  ///
  /// The session in which the person began may have ended while the bank was asked: then the enrollment has
  /// failed, and nothing of it is stored.
  ///
  /// - Returns: false if another pass has the job, or no request waits for it any more; then
  ///   nothing is stored.
  package func finish(
    _ enrollment: PendingEnrollment, with cards: [BankCard], by exchange: BankExchange,
    in job: Job
  ) throws -> Bool {
    do {
      return try store(cards, of: enrollment, by: exchange, in: job)
    } catch Refusal.sessionEnded {
      return try recordFailure(
        .invalidState, because: "the session has ended", of: enrollment, by: exchange, in: job)
    }
  }

  /// - Throws: ``Refusal/sessionEnded``.
  private func store(
    _ cards: [BankCard], of enrollment: PendingEnrollment, by exchange: BankExchange, in job: Job
  ) throws -> Bool {
    let result = EnrollmentResult.enrolled(cards: cards.count).json
    return try records.jobs.finish(job, with: result) { transaction in
      let account = enrollment.accountID
      // Both locks come before the first read. The account comes first, as in every transaction that locks
      // both.
      try transaction.cards.lock(of: account)
      guard try transaction.holdSession(ofEnrollment: exchange.enrollmentID) else {
        throw Refusal.sessionEnded
      }
      try transaction.keep(result, ofEnrollment: exchange.enrollmentID)
      let id = try transaction.storeEnrollment(of: account, at: enrollment.bsimID)
      try transaction.cards.store(cards, of: id)
      try transaction.cards.chooseDefault(of: account)
      try transaction.audit.write(
        .bankEnrolled, account: account, device: exchange.deviceID,
        detail: "\(enrollment.bsimID): \(cards.count) cards")
    }
  }

  /// Finishes the job of an enrollment that has failed.
  ///
  /// - Parameters:
  ///   - reason: in words, without secrets.
  ///   - enrollment: nil if the account or the bank is gone.
  /// - Returns: false if another pass has the job, or no request waits for it any more.
  package func recordFailure(
    _ failure: EnrollmentFailure, because reason: String, of enrollment: PendingEnrollment?,
    by exchange: BankExchange, in job: Job
  ) throws -> Bool {
    let result = EnrollmentResult.failed(failure).json
    return try records.jobs.finish(job, with: result) { transaction in
      try transaction.keep(result, ofEnrollment: exchange.enrollmentID)
      try transaction.audit.write(
        .bankRefused, account: enrollment?.accountID, device: exchange.deviceID,
        detail: "\(enrollment?.bsimID ?? "no bank"): \(failure.rawValue), \(reason)")
    }
  }
}

extension Job.Kind {
  package static let bankEnrollment = Job.Kind(
    "bank_enrollment", worker: .banks, endsWithItsRequest: true)
}

extension Transaction {
  /// Keeps the session in which the enrollment began from ending before the transaction's end.
  ///
  /// - Returns: false if it has ended, or a handover of the account has deleted the enrollment's state.
  fileprivate func holdSession(ofEnrollment id: String) throws(DatabaseError) -> Bool {
    try connection.row(
      """
      SELECT t.ended_at IS NULL AND t.expires_at > ? AND d.revoked_at IS NULL
      FROM enrollment_states s
      JOIN sessions t ON t.id = s.session_id JOIN devices d ON d.id = t.device_id
      WHERE s.id = ? FOR UPDATE
      """,
      [.time(now), .text(id)]
    ) { row in row.boolean(0) } ?? false
  }

  /// - Returns: the enrollment's id.
  fileprivate func storeEnrollment(
    of account: String, at bsimID: String
  ) throws(DatabaseError) -> String {
    _ = try connection.execute(
      """
      INSERT INTO enrollments (id, account_id, bsim_id, enrolled_at) VALUES (?, ?, ?, ?)
      ON DUPLICATE KEY UPDATE enrolled_at = IF(removed_at IS NULL, enrolled_at, VALUES(enrolled_at)),
        removed_at = NULL
      """,
      [.text(makeID()), .text(account), .text(bsimID), .time(now)])
    return try connection.knownRow(
      "SELECT id FROM enrollments WHERE account_id = ? AND bsim_id = ?",
      [.text(account), .text(bsimID)]
    ) { row in row.text(0) }
  }
}

extension CardStatements {
  /// Replaces the cards of an enrollment with those that the bank lists now.
  fileprivate func store(_ cards: [BankCard], of enrollment: String) throws(DatabaseError) {
    try removeCards(of: enrollment, except: Set(cards.map(\.id)))
    for (number, card) in cards.enumerated() {
      // Of cards that were added together, the first is the newest: the ids follow the bank's
      // order.
      let id = timeOrderedUUID(milliseconds: transaction.now.milliseconds + Int64(number))
      _ = try transaction.connection.execute(
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
          .integer(card.expiryMonth), .integer(card.expiryYear), .time(transaction.now),
        ])
    }
  }

  /// - Parameter listed: the bank's ids of the cards that stay.
  private func removeCards(
    of enrollment: String, except listed: Set<String>
  ) throws(DatabaseError) {
    let known = try transaction.connection.rows(
      "SELECT id, bank_card_id FROM cards WHERE enrollment_id = ? AND active", [.text(enrollment)]
    ) { row in (id: row.text(0), bankID: row.optionalText(1)) }
    for card in known where card.bankID.map(listed.contains) != true {
      _ = try transaction.connection.execute(
        "UPDATE cards SET active = FALSE, is_default = FALSE WHERE id = ?", [.text(card.id)])
    }
  }
}

import Base
import Cryptography
import Logging
import Store

/// Does the jobs for callbacks from banks.
struct BankEnrollments: Sendable {
  let database: Database
  /// Keys that open values sealed by the responder and administrators.
  let keys: CompanionKeys
  /// The site's main URL; nil if it is not configured.
  var publicURL: String?
  /// Time after a callback in which we may ask the bank.
  let waitLimit: Duration
  /// Rule for connections to banks.
  let outbound: OutboundRule
  let log: Logger
  var problemLog = ProblemLog()
  var clock = LimitClock.system

  var handler: JobHandler { JobHandler(kind: .bankEnrollment, perform: enroll) }

  /// Enrollments that write audit rows with the person's request and address.
  private func enrollments(of exchange: BankExchange, in job: Job) -> Enrollments {
    let origin = Origin(requestID: job.requestID, address: exchange.address)
    return database.records(at: .now(), from: origin).enrollments
  }

  /// Exchanges the code of a callback at its bank, and stores the cards.
  ///
  /// - Returns: false if the request no longer waits; nothing is stored then.
  private func enroll(_ job: Job) throws -> Bool {
    let exchange = try decoded(BankExchange.self, from: job.request)
    let enrollment = try enrollments(of: exchange, in: job).pending(exchange, of: job)
    guard let enrollment else {
      return try recordFailure(
        .bankUnavailable("the bank is gone"), of: nil, by: exchange, in: job)
    }
    let cards: [BankCard]
    do throws(BankFailure) {
      cards = try self.cards(of: enrollment, by: exchange)
    } catch {
      return try recordFailure(error, of: enrollment, by: exchange, in: job)
    }
    problemLog.note(.bank, of: enrollment.bsimID, nil)
    return try enrollments(of: exchange, in: job)
      .finish(enrollment, with: cards, by: exchange, in: job)
  }

  private func recordFailure(
    _ failure: BankFailure, of enrollment: PendingEnrollment?, by exchange: BankExchange,
    in job: Job
  ) throws -> Bool {
    log.warning(
      "No cards from the bank: \(failure.reason)",
      metadata: ["job": "\(job.id)", "bank": "\(enrollment?.bsimID ?? "")"])
    if let bank = enrollment?.bsimID, failure.failure == .bankUnavailable {
      problemLog.note(.bank, of: bank, "The bank \(bank) does not answer: \(failure.reason).")
    }
    return try enrollments(of: exchange, in: job).recordFailure(
      failure.failure, because: failure.reason, of: enrollment, by: exchange, in: job)
  }

  private func cards(
    of enrollment: PendingEnrollment, by exchange: BankExchange
  ) throws(BankFailure) -> [BankCard] {
    guard enrollment.age < waitLimit else {
      throw BankFailure(failure: .noAnswer, reason: "the person has waited too long")
    }
    guard isOfSite(exchange.redirectURI, bank: enrollment.bsimID) else {
      throw .bankUnavailable("the job names a page of another site")
    }
    let bank = Bank(
      of: enrollment, under: outbound, until: clock.now() + (waitLimit - enrollment.age), clock)
    let token = try bank.accessToken(
      for: opened(
        exchange.sealedCode, BankExchange.sealingContext(ofCode: exchange.enrollmentID)),
      verifier: opened(
        enrollment.sealedVerifier,
        NewEnrollment.sealingContext(ofVerifier: exchange.enrollmentID)),
      redirectURI: exchange.redirectURI,
      clientSecret: opened(
        enrollment.sealedSecret, BankConnection.sealingContext(ofSecret: enrollment.bsimID)))
    return try bank.cards(with: token)
  }

  /// Whether `redirectURI` is the site's callback page for this bank. Checked because the job is
  /// not trusted.
  private func isOfSite(_ redirectURI: String, bank: String) -> Bool {
    publicURL.map { redirectURI == "\($0)/api/enrollment/callback/\(bank)" } ?? true
  }

  private func opened(_ sealed: String, _ context: String) throws(BankFailure) -> String {
    do throws(CryptographyError) {
      let bytes = try keys.open(sealed, authenticating: context)
      return String(decoding: bytes, as: UTF8.self)
    } catch {
      throw .bankUnavailable("no key opens a sealed value")
    }
  }

  /// Seals the banks' secrets under the newest key, so that older keys can be removed.
  func resealSecrets() throws {
    let banks = database.records(at: .now(), from: .companion).banks
    for sealed in try banks.secrets(notSealedAs: keys.prefix) {
      let context = BankConnection.sealingContext(ofSecret: sealed.bsimID)
      let secret: [UInt8]
      do throws(CryptographyError) {
        secret = try keys.open(sealed.sealed, authenticating: context)
      } catch {
        log.error(
          "Cannot open the secret of a bank. Give SWITCHBOARD_COMPANION_KEYS all keys, or add the bank again.",
          metadata: ["bank": "\(sealed.bsimID)"])
        problemLog.note(
          .keys, of: sealed.bsimID, "The secret of the bank \(sealed.bsimID) cannot be opened.")
        continue
      }
      problemLog.note(.keys, of: sealed.bsimID, nil)
      try banks.replaceSecret(sealed, with: keys.seal(secret, authenticating: context))
    }
  }
}

import Cryptography
import Logging
import Store

extension Companion {
  /// How long after a callback a bank may still be asked: below the ten seconds that it waits.
  private static let patience = Duration.seconds(9)

  /// Exchanges the code of a callback at its bank, and stores the cards.
  ///
  /// - Returns: false where nobody waits for it any more; nothing is stored then.
  func enroll(_ errand: Errand) throws -> Bool {
    let exchange = try Errand.decode(BankExchange.self, from: errand.request)
    let enrollment = try database.enrollmentInHand(exchange, of: errand)
    guard let enrollment else {
      return try end(exchange, of: nil, with: .unavailable("the bank has gone"), in: errand)
    }
    let cards: [BankCard]
    do throws(BankFailure) {
      cards = try self.cards(of: enrollment, by: exchange)
    } catch {
      return try end(exchange, of: enrollment, with: error, in: errand)
    }
    return try database.enroll(enrollment, with: cards, by: exchange, in: errand, at: .now())
  }

  private func end(
    _ exchange: BankExchange, of enrollment: EnrollmentInHand?, with failure: BankFailure,
    in errand: Errand
  ) throws -> Bool {
    log.warning(
      "no cards: \(failure.reason)",
      metadata: ["errand": "\(errand.id)", "bank": "\(enrollment?.bsimID ?? "")"])
    return try database.end(
      exchange, of: enrollment, with: failure.end, because: failure.reason, in: errand, at: .now())
  }

  private func cards(
    of enrollment: EnrollmentInHand, by exchange: BankExchange
  ) throws(BankFailure) -> [BankCard] {
    guard enrollment.age < Self.patience else {
      throw BankFailure(end: .noAnswer, reason: "it was asked for too long ago")
    }
    let bank = Bank(of: enrollment, until: .now + (Self.patience - enrollment.age))
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

  private func opened(_ sealed: String, _ context: String) throws(BankFailure) -> String {
    do throws(CryptographyError) {
      let bytes = try open(sealed, authenticating: context, with: settings.credentialKeys)
      return String(decoding: bytes, as: UTF8.self)
    } catch {
      throw .unavailable("what is sealed cannot be opened with the keys at hand")
    }
  }

  /// Seals the secrets of banks under the newest key, where they are under an older one: it can be
  /// taken out then.
  func sealBankSecretsAnew() throws {
    let keys = settings.credentialKeys
    for (bsimID, sealed) in try database.sealedBankSecrets(notUnder: keys.newest.id) {
      let context = BankConnection.sealingContext(ofSecret: bsimID)
      let secret: [UInt8]
      do throws(CryptographyError) {
        secret = try open(sealed, authenticating: context, with: keys)
      } catch {
        log.error(
          "the secret of a bank cannot be opened: add it again", metadata: ["bank": "\(bsimID)"])
        continue
      }
      try database.replaceBankSecret(
        sealed, ofBank: bsimID, with: seal(secret, authenticating: context, with: keys))
    }
  }
}

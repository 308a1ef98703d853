import Base
import Cryptography
import Logging
import Store

extension CompanionKeys {
  /// The secrets that sign now, the newest first. An old secret that no key opens signs no more.
  func open(_ sealed: SealedWebhookSecrets) throws(CryptographyError) -> [Key] {
    let context = SealedWebhookSecrets.sealingContext(of: sealed.merchantID)
    let newest = try open(sealed.sealed, authenticating: context)
    let old = sealed.old.flatMap { try? open($0, authenticating: context) }  // its key is lost
    var secrets = [try Key(webhookSecret: newest)]
    if let old { secrets.append(try Key(webhookSecret: old)) }
    return secrets
  }

  fileprivate func resealed(
    _ sealed: SealedWebhookSecrets
  ) throws(CryptographyError) -> SealedWebhookSecrets {
    let context = SealedWebhookSecrets.sealingContext(of: sealed.merchantID)
    func resealed(_ value: String) throws(CryptographyError) -> String {
      seal(try open(value, authenticating: context), authenticating: context)
    }
    return SealedWebhookSecrets(
      merchantID: sealed.merchantID, sealed: try resealed(sealed.sealed),
      old: sealed.old.map { (try? resealed($0)) ?? $0 })  // its key may come back
  }
}

extension Key {
  /// - Parameter secret: `whsec_` and the base64 form of 32 bytes.
  fileprivate convenience init(webhookSecret secret: [UInt8]) throws(CryptographyError) {
    let text = String(decoding: secret, as: UTF8.self)
    guard text.hasPrefix("whsec_"), let bytes = base64Decoded(String(text.dropFirst(6))) else {
      throw .malformed
    }
    try self.init(id: "webhook", secret: Secret(copying: bytes.span))
  }
}

extension WebhookDelivery {
  /// Forgets old secrets that sign no longer, and seals the others under the newest key, so that older keys
  /// can be removed.
  ///
  /// - Throws: if the database does not answer.
  func resealSecrets() throws {
    let merchants = database.records(at: .now(), from: .companion).merchants
    try merchants.forgetOldSecrets()
    for sealed in try merchants.secrets(notSealedAs: keys.prefix) {
      let merchant = sealed.merchantID
      let renewed: SealedWebhookSecrets
      do throws(CryptographyError) {
        renewed = try keys.resealed(sealed)
      } catch {
        log.error(
          "Cannot open the webhook secret of a merchant. Give SWITCHBOARD_COMPANION_KEYS all keys, or run `switchboard merchants rotate-secret` and give the merchant the new secret.",
          metadata: ["merchant": "\(merchant)"])
        problemLog.note(
          .keys, of: merchant, "The webhook secret of the merchant \(merchant) cannot be opened.")
        continue
      }
      problemLog.note(.keys, of: merchant, nil)
      try merchants.replaceSecrets(sealed, with: renewed)
    }
  }
}

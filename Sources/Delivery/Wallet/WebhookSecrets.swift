import Base
import Cryptography
import Logging
import Store

extension CompanionKeys {
  /// The secrets that sign now, the newest first.
  func open(_ sealed: SealedWebhookSecrets) throws(CryptographyError) -> [Key] {
    var secrets: [Key] = []
    for value in [sealed.sealed, sealed.old] {
      guard let value else { continue }
      secrets.append(
        try Key(
          webhookSecret: open(
            value, authenticating: SealedWebhookSecrets.sealingContext(of: sealed.merchantID))))
    }
    return secrets
  }

  fileprivate func resealed(
    _ sealed: SealedWebhookSecrets
  ) throws(CryptographyError) -> SealedWebhookSecrets {
    let context = SealedWebhookSecrets.sealingContext(of: sealed.merchantID)
    var old = sealed.old
    if let value = old {
      old = seal(try open(value, authenticating: context), authenticating: context)
    }
    return SealedWebhookSecrets(
      merchantID: sealed.merchantID,
      sealed: seal(try open(sealed.sealed, authenticating: context), authenticating: context),
      old: old)
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
          "Cannot open the webhook secret of a merchant. Give SWITCHBOARD_COMPANION_KEYS all keys, or rotate the secret twice.",
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

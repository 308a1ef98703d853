import MariaDB

/// Settings of a merchant that an administrator changes. nil keeps what is set.
package struct MerchantSettings: Sendable {
  package enum Webhook: Sendable {
    /// Tells the merchant of outcomes at `url`. The secret is used only if the merchant has none.
    case set(url: String, sealedSecret: String)
    /// Tells it nothing, and forgets the secrets.
    case remove
  }

  package enum LargestAmount: Sendable {
    /// A decimal number above zero, with at most four decimals.
    case set(String)
    case remove
  }

  package var webhook: Webhook?
  /// Origins as browsers write them.
  package var returnOrigins: [String]?
  package var largestAmount: LargestAmount?
  /// Above zero.
  package var hourlyRequests: Int64?

  package init() {}
}

/// The webhook secrets of a merchant, sealed for the companion alone.
package struct SealedWebhookSecrets: Sendable {
  package let merchantID: String
  package let sealed: String
  /// nil unless the secret was rotated. It may have ended.
  package let old: String?

  package init(merchantID: String, sealed: String, old: String?) {
    self.merchantID = merchantID
    self.sealed = sealed
    self.old = old
  }

  /// The context that each secret is sealed with.
  package static func sealingContext(of merchantID: String) -> String {
    "webhook secret \(merchantID)"
  }
}

/// Settings of merchants as administrators manage them.
extension Merchants {
  /// The merchant with this id; nil if there is none.
  package func find(_ id: String) throws -> Merchant? {
    try list().first { $0.id == id.lowercased() }
  }

  /// Changes the settings of a merchant.
  ///
  /// - Returns: whether the merchant uses the new secret; nil if there is no such merchant.
  package func set(_ settings: MerchantSettings, of id: String) throws -> Bool? {
    try records.transaction { transaction in
      guard let hadSecret = try transaction.merchants.hold(id) else { return nil }
      try transaction.merchants.set(settings, of: id)
      try transaction.audit.write(.merchantChanged, detail: id)
      if case .set? = settings.webhook { return !hadSecret }
      return false
    }
  }

  /// Replaces the webhook secret. The old one signs too, for a day. If an earlier one still does, it goes on:
  /// the merchant may not have received the one in between.
  ///
  /// - Returns: false if the merchant has no webhook secret.
  package func rotateSecret(of id: String, to sealed: String) throws -> Bool {
    try records.transaction { transaction in
      let rotated = try transaction.connection.execute(
        """
        UPDATE merchants
        SET old_webhook_secret = IF(old_webhook_secret_until > UTC_TIMESTAMP(3), old_webhook_secret, webhook_secret),
          old_webhook_secret_until = UTC_TIMESTAMP(3) + INTERVAL 1 DAY, webhook_secret = ?
        WHERE id = ? AND webhook_secret IS NOT NULL
        """,
        [.text(sealed), .text(id)])
      guard rotated == 1 else { return false }
      try transaction.audit.write(.webhookSecretRotated, detail: id)
      return true
    }
  }

  /// Deletes the old secrets that sign no longer.
  package func forgetOldSecrets() throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        UPDATE merchants SET old_webhook_secret = NULL, old_webhook_secret_until = NULL
        WHERE old_webhook_secret_until <= UTC_TIMESTAMP(3)
        """)
    }
  }

  /// The secrets that do not begin with `prefix`, the prefix of secrets that the newest key has
  /// sealed.
  package func secrets(notSealedAs prefix: String) throws -> [SealedWebhookSecrets] {
    try records.read { transaction in
      try transaction.connection.rows(
        """
        SELECT id, webhook_secret, old_webhook_secret FROM merchants
        WHERE LEFT(webhook_secret, CHAR_LENGTH(?)) <> ? OR LEFT(old_webhook_secret, CHAR_LENGTH(?)) <> ?
        """,
        Array(repeating: .text(prefix), count: 4)
      ) { row in
        SealedWebhookSecrets(
          merchantID: row.text(0), sealed: row.text(1), old: row.optionalText(2))
      }
    }
  }

  /// Replaces the merchant's sealed secrets, if they are still `old`.
  package func replaceSecrets(_ old: SealedWebhookSecrets, with new: SealedWebhookSecrets) throws {
    try records.write { transaction in
      _ = try transaction.connection.execute(
        """
        UPDATE merchants SET webhook_secret = ?, old_webhook_secret = ?
        WHERE id = ? AND webhook_secret = ? AND old_webhook_secret <=> ?
        """,
        [
          .text(new.sealed), .text(new.old), .text(old.merchantID), .text(old.sealed),
          .text(old.old),
        ])
    }
  }
}

/// Statements on `merchants`.
private struct MerchantStatements: ~Copyable {
  let transaction: Transaction

  /// Locks the merchant.
  ///
  /// - Returns: whether it has a webhook secret; nil if there is no such merchant.
  func hold(_ id: String) throws(DatabaseError) -> Bool? {
    try transaction.connection.row(
      "SELECT webhook_secret IS NOT NULL FROM merchants WHERE id = ? FOR UPDATE", [.text(id)]
    ) { row in row.boolean(0) }
  }

  func set(_ settings: MerchantSettings, of id: String) throws(DatabaseError) {
    switch settings.webhook {
    case nil: break
    case .set(let url, let sealedSecret):
      _ = try transaction.connection.execute(
        """
        UPDATE merchants SET webhook_secret = COALESCE(webhook_secret, ?), webhook_url = ?
        WHERE id = ?
        """,
        [.text(sealedSecret), .text(url), .text(id)])
    case .remove:
      _ = try transaction.connection.execute(
        """
        UPDATE merchants SET webhook_url = NULL, webhook_secret = NULL, old_webhook_secret = NULL,
          old_webhook_secret_until = NULL
        WHERE id = ?
        """,
        [.text(id)])
    }
    if let origins = settings.returnOrigins {
      _ = try transaction.connection.execute(
        "UPDATE merchants SET return_origins = ? WHERE id = ?",
        [.text(origins.joined(separator: " ")), .text(id)])
    }
    if let largest = settings.largestAmount {
      let amount: Parameter =
        switch largest {
        case .set(let text): .text(text)
        case .remove: .null
        }
      _ = try transaction.connection.execute(
        "UPDATE merchants SET largest_amount = ? WHERE id = ?", [amount, .text(id)])
    }
    if let hourly = settings.hourlyRequests {
      _ = try transaction.connection.execute(
        "UPDATE merchants SET hourly_requests = ? WHERE id = ?", [.integer(hourly), .text(id)])
    }
  }
}

extension Transaction {
  fileprivate var merchants: MerchantStatements {
    MerchantStatements(transaction: Transaction(sharing: self))
  }
}

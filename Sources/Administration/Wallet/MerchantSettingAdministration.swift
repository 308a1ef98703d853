import Base
import Cryptography
package import Delivery
import Store

/// Settings of a merchant as an administrator writes them. nil keeps what is set.
package struct WantedMerchantSettings: Sendable {
  package enum Choice<Value: Sendable>: Sendable {
    case set(Value)
    case remove
  }

  package var webhook: Choice<String>?
  package var returnOrigins: [String]?
  package var largestAmount: Choice<String>?
  package var hourlyRequests: Int64?

  package init() {}
}

/// Limits, pages and webhooks of merchants.
extension MerchantAdministration {
  /// Changes the settings of a merchant. The first URL for webhooks makes a secret.
  ///
  /// - Parameter keys: keys that seal the secret.
  /// - Returns: nil if no merchant has this id.
  /// - Throws: ``BadArguments``, before anything is written.
  package func set(
    _ wanted: WantedMerchantSettings, of id: String, sealedFor keys: CompanionKeys
  ) throws -> MerchantAnswer? {
    let complaints = wanted.complaints
    guard complaints.isEmpty else { throw BadArguments(complaints) }
    guard let merchant = try records.merchants.find(id) else { return nil }
    let secret = Self.newSecret()
    let settings = wanted.settings(with: keys.sealedWebhookSecret(secret, of: merchant.id))
    guard let usesSecret = try records.merchants.set(settings, of: merchant.id) else { return nil }
    return MerchantAnswer(
      Change(
        isRehearsal: records.isRehearsal, "Changed", or: "change",
        "the settings of the merchant \(merchant.name.printable).",
        members(merchant.id, usesSecret ? secret : nil)),
      secret: usesSecret && !records.isRehearsal ? secret : nil)
  }

  /// Replaces the secret that signs the merchant's webhooks. The old one signs too, for a day.
  ///
  /// - Parameter keys: keys that seal the secret.
  /// - Returns: nil if no merchant has this id.
  /// - Throws: ``BadArguments`` if the merchant has no URL for webhooks.
  package func rotateSecret(
    of id: String, sealedFor keys: CompanionKeys
  ) throws -> MerchantAnswer? {
    guard let merchant = try records.merchants.find(id) else { return nil }
    let secret = Self.newSecret()
    guard
      try records.merchants.rotateSecret(
        of: merchant.id, to: keys.sealedWebhookSecret(secret, of: merchant.id))
    else { throw noWebhookURL }
    return MerchantAnswer(
      Change(
        isRehearsal: records.isRehearsal, "Replaced", or: "replace",
        "the webhook secret of the merchant \(merchant.name.printable). The old one signs too, for 24 hours.",
        members(merchant.id, secret)),
      secret: records.isRehearsal ? nil : secret)
  }

  /// Lists webhooks, the newest first.
  ///
  /// - Parameter id: the id of a merchant; nil for all merchants.
  /// - Returns: nil if no merchant has this id.
  package func webhooks(of id: String?, limit: Int) throws -> Report? {
    let found: FirstRows<WebhookRecord>
    if let id {
      guard let merchant = try records.merchants.find(id) else { return nil }
      found = try records.webhooks.list(of: merchant.id, limit: limit)
    } else {
      found = try records.webhooks.list(limit: limit)
    }
    return Report(
      Listing(
        "webhooks",
        [
          "created_at", "event", "payment", "state", "attempts", "due_at", "status", "reason",
          "id", "merchant",
        ], of: found
      ) { webhook in
        [
          .time(webhook.createdAt), .text(webhook.event), .text(webhook.paymentID),
          .text(webhook.state), .number(webhook.attempts), .time(webhook.dueAt),
          .number(webhook.status), .text(webhook.reason), .text(webhook.id),
          .text(webhook.merchantName),
        ]
      })
  }

  /// Makes the next pass send a webhook, also one that was delivered or given up.
  ///
  /// - Returns: nil if no webhook has this id.
  /// - Throws: ``BadArguments`` if its merchant has no URL for webhooks.
  package func resend(_ id: String) throws -> Change? {
    switch try records.webhooks.resend(id) {
    case .done:
      return Change(
        isRehearsal: records.isRehearsal, "Opened", or: "open",
        "the webhook \(id) again: the next pass sends it.")
    case .unknown: return nil
    case .noURL: throw noWebhookURL
    }
  }

  private func members(
    _ id: String, _ secret: String?
  ) -> [(name: StaticString, value: String)] {
    guard !records.isRehearsal else { return [] }
    var members: [(name: StaticString, value: String)] = [("id", id)]
    if let secret { members.append(("webhook_secret", secret)) }
    return members
  }

  /// In the form of Standard Webhooks.
  private static func newSecret() -> String { "whsec_" + base64Encoded(randomBytes(32)) }
}

private let noWebhookURL = BadArguments(
  "The merchant has no URL for webhooks: set one with `switchboard merchants set ID --webhook URL`."
)

/// Change of a merchant, with the secret for its webhooks if there is a new one.
package struct MerchantAnswer: CommandAnswer, Sendable {
  private let change: Change
  /// The database has it only sealed for the companion, so it is shown only now.
  package let secret: String?

  fileprivate init(_ change: Change, secret: String?) {
    self.change = change
    self.secret = secret
  }

  /// Only the secret, if there is one, so that a script can use it.
  package var text: String { secret ?? change.text }

  package var json: [UInt8] { change.json }
}

extension CompanionKeys {
  fileprivate func sealedWebhookSecret(_ secret: String, of merchantID: String) -> String {
    seal(
      Array(secret.utf8),
      authenticating: SealedWebhookSecrets.sealingContext(of: merchantID))
  }
}

extension WantedMerchantSettings {
  fileprivate var complaints: [String] {
    var complaints: [String] = []
    if case .set(let url) = webhook, !url.isURLForSecrets {
      complaints.append(.ruleForURL("webhook"))
    }
    let origins = returnOrigins ?? []
    if !origins.allSatisfy(\.isWebOrigin) || origins.joined(separator: " ").utf8.count > 2000 {
      complaints.append(
        "--return must be an origin such as https://shop.example.com, in lower case and without a path, and all together at most 2000 characters."
      )
    }
    if case .set(let amount) = largestAmount, !amount.isPositiveAmount {
      complaints.append(
        "--largest must be a number above zero with at most 10 digits before the point and 4 after it."
      )
    }
    if let hourlyRequests, !(1...1_000_000).contains(hourlyRequests) {
      complaints.append("--hourly must be a number from 1 to 1000000.")
    }
    return complaints
  }

  fileprivate func settings(with sealedSecret: String) -> MerchantSettings {
    var settings = MerchantSettings()
    settings.webhook = webhook.map { choice in
      switch choice {
      case .set(let url): .set(url: url, sealedSecret: sealedSecret)
      case .remove: .remove
      }
    }
    settings.returnOrigins = returnOrigins
    settings.largestAmount = largestAmount.map { choice in
      switch choice {
      case .set(let amount): .set(amount)
      case .remove: .remove
      }
    }
    settings.hourlyRequests = hourlyRequests
    return settings
  }
}

extension String {
  /// Whether a browser writes the origin of a web page so.
  fileprivate var isWebOrigin: Bool {
    guard let url = WebURL(self) else { return false }
    return url.isHTTP && url.origin == self
  }

  fileprivate var isPositiveAmount: Bool {
    wholeMatch(of: /[0-9]{1,10}(\.[0-9]{1,4})?/) != nil && contains { ("1"..."9").contains($0) }
  }
}

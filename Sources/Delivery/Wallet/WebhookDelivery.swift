import Base
import Cryptography
import Logging
import Store

/// Tells merchants the outcomes of payments.
struct WebhookDelivery: Sendable {
  let database: Database
  /// Keys that open the merchants' secrets.
  let keys: CompanionKeys
  /// Rule for connections to merchants.
  let outbound: OutboundRule
  let log: Logger
  let stopping: Flag
  var problemLog = ProblemLog()
  var clock = LimitClock.system
  let slots = MerchantSlots()

  /// Time after which no new webhook is begun.
  private static let time = Duration.seconds(60)
  /// Time limit for an answer; shorter than the lease.
  private static let waitLimit = Duration.seconds(10)
  /// Attempts in ten minutes. A webhook that has failed so often is a problem.
  private static let manyAttempts = 6

  private var records: Records { database.records(at: .now(), from: .companion) }

  /// Sends the due webhooks, one at a time. Several threads call it: one merchant occupies only a few of
  /// them.
  ///
  /// - Throws: if the database does not answer.
  func run() throws {
    let client = HTTPClient(userAgent: "Switchboard/\(Product.version)", clock: clock)
    let end = clock.now() + Self.time
    while !stopping.isSet, clock.now() < end, let webhook = try claim() {
      defer { slots.leave(webhook.merchantID) }
      let outcome = send(webhook, with: client)
      if case .failed(status: nil, _) = outcome { slots.pause(webhook.merchantID, at: clock.now()) }
      if try records.webhooks.record(outcome, of: webhook) { report(outcome, of: webhook) }
    }
  }

  /// - Returns: a webhook whose merchant has a slot, which the caller must leave; nil if there is none.
  private func claim() throws -> ClaimedWebhook? {
    while !stopping.isSet {
      let busy = slots.busyMerchants(at: clock.now())
      // A merchant with no webhook under way goes first: others may have a long queue.
      var due = try records.webhooks.due(besidesThoseOf: busy.any, limit: 20)
      if due.isEmpty, !busy.any.isEmpty {
        due = try records.webhooks.due(besidesThoseOf: busy.full, limit: 20)
      }
      if due.isEmpty { return nil }
      for webhook in due where slots.enter(webhook.merchantID) {
        do {
          if let claimed = try records.webhooks.claim(webhook.id, as: newClaimID()) {
            return claimed
          }
        } catch {
          slots.leave(webhook.merchantID)
          throw error
        }
        slots.leave(webhook.merchantID)
      }
    }
    return nil
  }

  private func send(
    _ webhook: ClaimedWebhook, with client: borrowing HTTPClient
  ) -> WebhookOutcome {
    guard let endpoint = webhook.endpoint else {
      return .dead(status: nil, reason: "the merchant has no URL for webhooks")
    }
    let secrets: [Key]
    do throws(CryptographyError) {
      secrets = try keys.open(endpoint.secrets)
    } catch {
      return .failed(status: nil, reason: "no key opens the merchant's secret")
    }
    var limits = HTTPClient.Limits()
    limits.total = Self.waitLimit
    limits.body = 4 << 10
    limits.stopping = stopping
    do throws(HTTPError) {
      let message = WebhookMessage(webhook, sentAt: .now())
      let status = try client.postForStatus(
        message.body, to: .foreign(endpoint.url, under: outbound),
        fields: message.fields(signedWith: secrets), limits: limits)
      return outcome(of: status)
    } catch {
      return .failed(
        status: nil,
        reason: stopping.isSet ? "the companion was stopped before the answer" : error.reason)
    }
  }

  private func outcome(of status: Int) -> WebhookOutcome {
    switch status {
    case 200...299: .delivered(status: status)
    case 300...399: .failed(status: status, reason: "it redirects, which is not followed")
    case 410: .dead(status: status, reason: "it wants no webhooks")
    default: .failed(status: status, reason: "it answers \(status)")
    }
  }

  private func report(_ outcome: WebhookOutcome, of webhook: ClaimedWebhook) {
    let metadata: Logger.Metadata = [
      "webhook": "\(webhook.id)", "merchant": "\(webhook.merchantID)",
      "attempts": "\(webhook.attempts)",
    ]
    switch outcome {
    case .delivered:
      problemLog.tally(.webhooks, "delivered")
      problemLog.note(.webhooks, of: webhook.merchantID, nil)
      log.info("Webhook delivered", metadata: metadata)
    case .failed(_, let reason):
      problemLog.tally(.webhooks, "failed")
      if webhook.attempts >= Self.manyAttempts, !stopping.isSet { note(reason, of: webhook) }
      log.warning("Webhook not delivered: \(reason)", metadata: metadata)
    case .dead(_, let reason):
      problemLog.tally(.webhooks, "dead")
      if webhook.endpoint != nil { note(reason, of: webhook) }
      log.error("Webhook given up: \(reason)", metadata: metadata)
    }
  }

  private func note(_ reason: String, of webhook: ClaimedWebhook) {
    problemLog.note(
      .webhooks, of: webhook.merchantID,
      "The merchant \(webhook.merchantName) is not told of payments: \(reason).")
  }

  /// Gives up the webhooks that were not delivered in time.
  ///
  /// - Throws: if the database does not answer.
  func expire() throws {
    let merchants = try records.webhooks.expire()
    problemLog.tally(.webhooks, "expired", by: merchants.count)
    for merchant in Set(merchants) {
      problemLog.note(
        .webhooks, of: merchant,
        "Webhooks of the merchant \(merchant) were given up after three days.")
    }
    if !merchants.isEmpty {
      log.error("Webhooks expired", metadata: ["webhooks": "\(merchants.count)"])
    }
  }
}

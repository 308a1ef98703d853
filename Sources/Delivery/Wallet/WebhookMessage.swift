import Base
import Cryptography
import Store

/// Request that tells a merchant an outcome, in the form of Standard Webhooks (standardwebhooks.com).
struct WebhookMessage {
  let id: String
  let sentAt: Timestamp
  /// JSON: `{type, timestamp, data}`; the same at each attempt.
  let body: [UInt8]

  init(_ webhook: ClaimedWebhook, sentAt: Timestamp) {
    id = webhook.id
    self.sentAt = sentAt
    body = JSONWriter.object { json in
      json.member("type", webhook.event.rawValue)
      json.member("timestamp", webhook.createdAt.rfc3339)
      json.member("data", object: { $0.members(of: webhook.payment, as: webhook.event) })
    }
  }

  /// Header fields with a signature by each secret.
  func fields(signedWith secrets: [Key]) -> [String] {
    let content = Array("\(id).\(sentAt.seconds).".utf8) + body
    let signatures = secrets.map { "v1,\(base64Encoded(hmacSHA256(content, with: $0)))" }
    return [
      "Content-Type: application/json", "webhook-id: \(id)",
      "webhook-timestamp: \(sentAt.seconds)",
      "webhook-signature: \(signatures.joined(separator: " "))",
    ]
  }
}

extension JSONWriter {
  /// The members of a payment at the time of the event, whatever happened since.
  fileprivate mutating func members(of payment: ToldPayment, as event: WebhookEvent) {
    member("requestId", payment.id)
    member("orderId", payment.orderID)
    member("amount", payment.amount.text)
    member("currency", payment.amount.currency.code)
    member("status", event.status.rawValue)
    switch event {
    case .confirmed:
      member("confirmedAt", payment.confirmedAt?.rfc3339)
      member("cardToken", payment.cardToken)
    case .cancelled:
      member("cancelledAt", payment.cancelledAt?.rfc3339)
      member("cancelledBy", payment.cancelledBy)
    case .expired: member("expiredAt", payment.expiredAt?.rfc3339)
    case .refunded:
      member("confirmedAt", payment.confirmedAt?.rfc3339)
      member("cardToken", payment.cardToken)
      member("refundedAt", payment.refundedAt?.rfc3339)
      if let reason = payment.refundReason { member("refundReason", reason) }
    }
  }
}

extension WebhookEvent {
  fileprivate var status: PaymentStatus {
    switch self {
    case .confirmed: .confirmed
    case .cancelled: .cancelled
    case .expired: .expired
    case .refunded: .refunded
    }
  }
}

import Base
import Store

/// Explanations of deliveries.
extension SilenceReport {
  /// Explains the newest delivery to each device.
  ///
  /// - Parameter deliveries: sorted, the newest first.
  func explainDeliveries(
    _ deliveries: [DeliveryRecord], of owner: String, in explanation: inout Explanation
  ) throws {
    if deliveries.isEmpty {
      explanation.note(
        "no_notification",
        "No notification for \(owner) is stored. Accepted notifications are stored for a day, others for 30 days."
      )
    }
    var seen: Set<String> = []
    for delivery in deliveries where seen.insert(delivery.token).inserted {
      explain(delivery, in: &explanation)
    }
  }

  private func explain(_ delivery: DeliveryRecord, in explanation: inout Explanation) {
    let name =
      "The notification of \(delivery.createdAt.rfc3339) to \(delivery.token.tokenPreview)"
    switch delivery.state {
    case .delivered:
      let service = PushService(behind: delivery.channel).name
      explanation.note(
        "delivered",
        "\(name) was taken by \(service) on \(time(delivery.finishedAt)). From then on, only \(service) and the device decide."
      )
    case .open: explainOpen(delivery, name, in: &explanation)
    case .dead: explainDead(delivery, name, in: &explanation)
    }
  }

  private func explainOpen(
    _ delivery: DeliveryRecord, _ name: String, in explanation: inout Explanation
  ) {
    guard delivery.expiresAt > records.now else {
      return explanation.blame(
        "expired", "\(name) waits, and has expired on \(time(delivery.expiresAt)): it is not sent.")
    }
    guard let reason = delivery.reason else {
      if delivery.dueAt > records.now {
        return explanation.blame(
          "quiet_hours",
          "\(name) waits for the end of the device's quiet hours, on \(time(delivery.dueAt)).")
      }
      return explanation.blame(
        "waiting", "\(name) waits to be sent since \(time(delivery.dueAt)), and was never tried.")
    }
    let service = PushService(behind: delivery.channel)
    let next = "It is tried again on \(time(delivery.dueAt))."
    guard reason != "SealedForOtherKeys" else {
      return explanation.blame(
        "sealed_for_others",
        "\(name) cannot be sent: its subscription was sealed for keys that the companion does not have. See that "
          + "SWITCHBOARD_COMPANION_KEYS has all keys, or open the page in the browser, so that it subscribes again. \(next)"
      )
    }
    if let status = delivery.status {
      explanation.blame(
        "refused_for_now",
        "\(name) was refused by \(service.name) for now: \(status) \(reason.printable). \(service.advice(onStatus: status, reason)) \(next)"
      )
    } else {
      explanation.blame(
        "no_answer",
        "\(name) was tried \(delivery.attempts == 1 ? "once" : "\(delivery.attempts) times"), and \(service.name) did not "
          + "answer. Check that this host reaches it: switchboard check. \(next)")
    }
  }

  private func explainDead(
    _ delivery: DeliveryRecord, _ name: String, in explanation: inout Explanation
  ) {
    let when = time(delivery.finishedAt)
    if let status = delivery.status, let reason = delivery.reason,
      !["discarded", "withdrawn"].contains(reason)
    {
      let service = PushService(behind: delivery.channel)
      return explanation.blame(
        "refused",
        "\(name) was refused by \(service.name) on \(when): \(status) \(reason.printable). \(service.advice(onStatus: status, reason))"
      )
    }
    switch delivery.reason {
    case "expired":
      explanation.blame(
        "expired",
        "\(name) expired before it could be sent, on \(when). If it is still the user's turn, a new notification is sent."
      )
    case "too many attempts":
      explanation.blame(
        "too_many_attempts",
        "\(name) was given up on \(when), after \(delivery.attempts) attempts. Send it again: switchboard outbox retry "
          + delivery.id)
    case "no outcome":
      explanation.blame(
        "sender_ended",
        "\(name) was given up on \(when), because the companion ended five times while it sent it. Look at its log: "
          + "journalctl -u switchboard-companion")
    case "not a push token":
      explanation.blame(
        "not_a_token",
        "\(name) was not sent: the token does not have the format of \(PushService(behind: delivery.channel).name)."
      )
    case "withdrawn":
      explanation.note(
        "withdrawn",
        "\(name) was withdrawn on \(when) before it was sent, because it was no longer true."
      )
    case "discarded":
      explanation.blame("discarded", "\(name) was discarded by an administrator on \(when).")
    default:
      explanation.blame(
        "given_up",
        "\(name) was given up on \(when): \(delivery.reason?.printable ?? "no reason is kept").")
    }
  }

  private func time(_ time: Timestamp?) -> String { time?.rfc3339 ?? "an unknown day" }
}

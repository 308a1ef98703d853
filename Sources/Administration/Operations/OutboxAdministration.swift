package import Store

/// Unsent mails and notifications, for administrators.
package struct OutboxAdministration: Sendable {
  private let records: Records

  package init(records: Records) {
    self.records = records
  }

  /// At most `limit` mails and `limit` notifications of a state.
  package func list(_ state: OutboxState, limit: Int) throws -> Report {
    Report(
      Self.listing("mails", try records.mails.list(state, limit: limit)) { $0 },
      Self.listing("notifications", try records.deliveries.list(state, limit: limit)) {
        $0.tokenPreview
      })
  }

  /// Makes the next pass send a message.
  ///
  /// - Returns: nil if no message has this id.
  /// - Throws: ``BadArguments`` if the message cannot be sent.
  package func retry(_ id: String) throws -> Change? {
    try change(
      "Retried", or: "retry", "the message \(id): the next pass sends it.",
      try records.mails.retry(id)
    ) { try records.deliveries.retry(id) }
  }

  /// Discards a message. One that is being sent now still goes out.
  ///
  /// - Returns: nil if no message has this id.
  /// - Throws: ``BadArguments`` if the message no longer waits.
  package func discard(_ id: String) throws -> Change? {
    try change(
      "Discarded", or: "discard", "the message \(id): no later pass sends it.",
      try records.mails.discard(id)
    ) { try records.deliveries.discard(id) }
  }

  private func change(
    _ past: String, or future: String, _ rest: String, _ ofMail: OutboxChange,
    _ ofDelivery: () throws -> OutboxChange
  ) throws -> Change? {
    switch ofMail == .unknown ? try ofDelivery() : ofMail {
    case .done: return Change(isRehearsal: records.isRehearsal, past, or: future, rest)
    case .unknown: return nil
    case .expired: throw BadArguments("The message has expired: it can only be discarded.")
    case .wiped:
      throw BadArguments(
        "The mail was given up, and its content was deleted then. Ask the person to begin again.")
    case .closed(let state): throw BadArguments("The message is \(state) already.")
    }
  }

  private static func listing(
    _ name: StaticString, _ found: FirstRows<OutboxRecord>, recipient: (String) -> String
  ) -> Listing {
    Listing(
      name,
      [
        "id", "kind", "recipient", "state", "attempts", "created_at", "due_at", "expires_at",
        "reason",
      ], of: found
    ) { message in
      [
        .text(message.id), .text(message.kind), .text(recipient(message.recipient)),
        .text(message.state), .number(message.attempts), .time(message.createdAt),
        .time(message.dueAt), .time(message.expiresAt), .text(message.reason),
      ]
    }
  }
}

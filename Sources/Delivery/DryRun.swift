import Base
import Store

extension Companion {
  /// Lists the work of a pass that would start now, one line for each job, mail, webhook, push and poll,
  /// with its destination. Connects only to the database, and changes nothing there.
  ///
  /// The results of polls are not included.
  ///
  /// - Throws: if the database does not answer.
  package func dryRun() throws -> [String] {
    let limit = 1_000
    let records = database.records(at: .now(), from: .companion)
    let poller = settings.polling?.baseURL ?? "nowhere: SWITCHBOARD_ADMINISTRATOR is missing"
    let kinds: [(String, [String])] = [
      ("job", try records.jobs.dueKinds(limit: limit)),
      (
        "mail", try records.mails.dueRecipients(limit: limit).map { "\($0)  \(settings.mailRoute)" }
      ),
      (
        "webhook",
        try records.webhooks.due(limit: limit).map { "\($0.id)  merchant \($0.merchantID)" }
      ),
      ("push", try describe(records.deliveries.due(limit: limit))),
      ("poll", try records.polls.dueUsers(limit: limit).map { "user \($0)  \(poller)" }),
    ]
    return kinds.flatMap { kind, things in
      things.map { "\(kind)  \($0)" }
        + (things.count == limit ? ["\(kind)  and more after these \(limit)"] : [])
    }
  }

  private func describe(_ due: [DueDelivery]) throws -> [String] {
    var routes: [Channel: [String: String]] = [:]
    for channel in channels {
      let name = channel.name
      let addresses = due.filter { $0.channel == name }.map {
        PushAddress($0.token, by: name, bundleID: $0.bundleID)
      }
      routes[name] = try channel.routes(addresses)
    }
    return due.map { delivery in
      let channel = channels.first { $0.name == delivery.channel }
      let route =
        channel?.describe(routes[delivery.channel]?[delivery.token])
        ?? "nowhere: \(settings.missing(for: delivery.channel).joined(separator: " ")) is missing"
      return "\(delivery.token.prefix(16))…  \(delivery.collapseID)  \(route)"
    }
  }
}

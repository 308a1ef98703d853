import Store

extension Companion {
  /// Looks at everything that can be wrong before it goes wrong: what `nginx -t` is to nginx.
  package func check() -> [Finding] {
    [.ok("the companion's configuration is complete"), mails.check(), pollFinding()]
      + databaseFindings()
  }

  private func pollFinding() -> Finding {
    settings.polling?.check(interval: settings.interval)
      ?? .fault("online-go.com is not polled: SWITCHBOARD_CONTACT is missing")
  }

  private func databaseFindings() -> [Finding] {
    do {
      return try database.inspect().map { inspection in
        inspection.isRight ? .ok(inspection.text) : .fault(inspection.text)
      }
    } catch {
      return [.fault("the database does not answer: \(error)")]
    }
  }

  /// What a pass would do now, with a line for each thing that would go, and where to. Connects only
  /// to the database, and changes nothing there.
  ///
  /// What polls would find is unknown before them.
  ///
  /// - Throws: where the database does not answer.
  package func dryRun() throws -> [String] {
    let limit = 1_000
    let records = database.records(at: .now(), from: .companion)
    let poller = settings.polling?.baseURL ?? "nowhere: SWITCHBOARD_CONTACT is missing"
    let kinds: [(String, [String])] = [
      ("job", try records.jobs.dueKinds(limit: limit)),
      ("mail", try records.mails.dueRecipients(limit: limit).map { "\($0)  \(mails.route)" }),
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
    for sender in senders {
      let tokens = due.filter { $0.channel == sender.channel.name }.map(\.token)
      routes[sender.channel.name] = try sender.channel.routes(tokens)
    }
    return due.map { delivery in
      let channel = senders.map(\.channel).first { $0.name == delivery.channel }
      let route =
        channel?.describe(routes[delivery.channel]?[delivery.token])
        ?? "nowhere: \(settings.missingForPushes.joined(separator: " ")) is missing"
      return "\(delivery.token.prefix(16))…  \(delivery.collapseID)  \(route)"
    }
  }
}

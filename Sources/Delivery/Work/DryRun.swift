import Store

extension Companion {
  /// What a pass would do now, a line for each thing that would go, and where to. Connects to nothing
  /// but the database, and changes nothing there.
  ///
  /// What polls would find nobody knows before them.
  ///
  /// - Throws: where the database does not answer.
  package func dryRun() throws -> [String] {
    let limit = 1_000
    let due = try database.dueWork(limit: limit, topic: settings.apns?.topic)
    let poller = settings.polling?.baseURL ?? "nowhere: SWITCHBOARD_CONTACT is missing"
    let kinds: [(String, [String])] = [
      ("errand", due.errands),
      ("mail", due.mails.map { "\($0)  \(mailRoute)" }),
      ("push", due.pushes.map { "\($0.token.prefix(16))…  \($0.collapseID)  \(route(of: $0))" }),
      ("poll", due.users.map { "user \($0)  \(poller)" }),
    ]
    return kinds.flatMap { kind, things in
      things.map { "\(kind)  \($0)" }
        + (things.count == limit ? ["\(kind)  and what comes after these \(limit)"] : [])
    }
  }

  private var mailRoute: String {
    switch settings.mailer {
    case nil: "nowhere: SWITCHBOARD_MAIL_COMMAND is missing"
    case .directory(let path): "a file in \(path)"
    case .command(let line): "by \(line)"
    }
  }

  private func route(of push: DueWork.Push) -> String {
    guard let apns = settings.apns else {
      return "nowhere: \(settings.missingForPushes.joined(separator: " ")) is missing"
    }
    let isElsewhere = push.environment.map { $0 != apns.environment } ?? false
    return "\(isElsewhere ? apns.otherEndpoint ?? apns.endpoint : apns.endpoint)  \(apns.topic)"
  }
}

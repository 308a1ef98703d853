import Base
package import Cryptography
import Store

extension Companion {
  /// Looks at everything that can be wrong before it goes wrong: what `nginx -t` is to nginx. Tries what it can try
  /// without sending anything.
  ///
  /// - Parameters:
  ///   - publicKeys: those that the responder has, where they can be seen from here.
  ///   - isAccountShared: whether all programs use one database account.
  package func check(
    publicKeys: BoxPublicKeys? = nil, isAccountShared: Bool = false
  ) -> [Finding] {
    [.ok("the companion's configuration is complete"), mails.check()]
      + channelFindings() + [pollFinding()]
      + [certificateFinding(), keyFinding(publicKeys)].compactMap { $0 }
      + databaseFindings(isAccountShared)
  }

  /// - Returns: nil where the site has no address with a certificate.
  private func certificateFinding() -> Finding? {
    guard let url = settings.publicURL, WebURL(url)?.isHTTPS == true else { return nil }
    guard let certificate = SiteCertificate(at: url) else {
      return .unset(
        "the site's certificate was not looked at: \(url) is not reached from this host")
    }
    return certificate.problem(at: .now()).map { .fault($0) }
      ?? .ok("the site's certificate is good until \(certificate.expiresAt.rfc3339)")
  }

  /// - Returns: nil where there is nothing to compare.
  private func keyFinding(_ publicKeys: BoxPublicKeys?) -> Finding? {
    guard let theirs = publicKeys?.entries else { return nil }
    let own = settings.keys.publicEntries
    return theirs.allSatisfy(own.contains)
      ? .ok("the responder seals for keys that the companion has")
      : .fault(
        "the responder seals for keys that the companion does not have: write its public keys anew "
          + "with switchboard-companion keys public")
  }

  private func pollFinding() -> Finding {
    settings.polling?.check(interval: settings.interval)
      ?? .fault("online-go.com is not polled: SWITCHBOARD_CONTACT is missing")
  }

  private func databaseFindings(_ isAccountShared: Bool) -> [Finding] {
    do {
      return try database.inspect(isAccountShared: isAccountShared).map { inspection in
        inspection.isRight ? .ok(inspection.text) : .fault(inspection.text)
      }
    } catch {
      return [.fault(Database.fault(error))]
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
      let name = sender.channel.name
      let addresses = due.filter { $0.channel == name }.map {
        PushAddress($0.token, by: name, bundleID: $0.bundleID)
      }
      routes[name] = try sender.channel.routes(addresses)
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

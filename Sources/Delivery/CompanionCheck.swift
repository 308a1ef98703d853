import Base
package import Cryptography
import Store

extension Companion {
  /// Checks the configuration and the services that the companion needs, without sending anything
  /// (compare `nginx -t`).
  ///
  /// - Parameters:
  ///   - publicKeys: the responder's keys, if they can be read here.
  ///   - isAccountShared: true if all programs use one database account.
  package func check(
    publicKeys: BoxPublicKeys? = nil, isAccountShared: Bool = false
  ) -> [CheckLine] {
    // The database is checked first, because other checks need it.
    let (ofDatabase, answers) = databaseChecks(isAccountShared)
    return ofDatabase + [.ok("the companion's configuration is complete"), mails.check()]
      + channelChecks(databaseAnswers: answers) + [pollCheck()] + siteChecks()
      + [keyCheck(publicKeys), secretCheck()].compactMap { $0 }
  }

  /// - Returns: an empty array if the site's URL is not configured.
  private func siteChecks() -> [CheckLine] {
    guard let url = settings.publicURL else { return [] }
    let answer = SiteAnswer(at: url, triesFor: .zero)
    let line =
      answer.problem.map { CheckLine.problem($0) } ?? .ok("the site answers at \(url)")
    guard WebURL(url)?.isHTTPS == true, let certificate = SiteCertificate(at: url) else {
      return [line]
    }
    return [
      line,
      answer.isTrusted ? certificateCheck(certificate) : untrustedCheck(certificate),
    ]
  }

  private func certificateCheck(_ certificate: SiteCertificate) -> CheckLine {
    certificate.problem(at: .now()).map { .problem($0) }
      ?? .ok("the site's certificate is good until \(certificate.expiresAt.rfc3339)")
  }

  private func untrustedCheck(_ certificate: SiteCertificate) -> CheckLine {
    let expected = settings.certificateFingerprint
    if let problem = certificate.problem(at: .now(), insteadOf: expected) {
      return .problem(problem)
    }
    return expected == nil
      ? .unset(
        "this host does not trust the site's certificate: it is self-signed, or from an unknown authority, or for "
          + "another name. Its fingerprint, for SWITCHBOARD_CERTIFICATE_FINGERPRINT: \(certificate.fingerprintText)"
      )
      : .ok(
        "the site's certificate is the one that is expected, good until \(certificate.expiresAt.rfc3339); apps and "
          + "browsers do not trust it")
  }

  /// - Returns: nil if no file of secrets is known.
  private func secretCheck() -> CheckLine? {
    settings.secretFiles.isEmpty
      ? nil
      : settings.secretFiles.problem.map { .problem($0) }
        ?? .ok("no other user can read the files of secrets")
  }

  /// - Returns: nil if the responder's keys are unknown.
  private func keyCheck(_ publicKeys: BoxPublicKeys?) -> CheckLine? {
    guard let theirs = publicKeys?.entries else { return nil }
    let own = settings.keys.publicEntries
    return theirs.allSatisfy(own.contains)
      ? .ok("the responder seals for keys that the companion has")
      : .problem(
        "the responder seals for keys that the companion does not have: write its public keys again "
          + "with switchboard-companion keys public")
  }

  private func pollCheck() -> CheckLine {
    settings.polling?.check(interval: settings.interval)
      ?? .problem("online-go.com is not polled: SWITCHBOARD_CONTACT is missing")
  }

  /// - Returns: the problems found, and whether the database answers.
  private func databaseChecks(_ isAccountShared: Bool) -> ([CheckLine], answers: Bool) {
    do {
      let inspections = try database.inspect(isAccountShared: isAccountShared)
      return (inspections.map { $0.isRight ? .ok($0.text) : .problem($0.text) }, true)
    } catch {
      return ([.problem(Database.problem(error))], !Database.isUnavailable(error))
    }
  }

  /// Lists the work of a pass that would start now, one line for each job, mail, push and poll,
  /// with its destination. Connects only to the database, and changes nothing there.
  ///
  /// The results of polls are not included.
  ///
  /// - Throws: if the database does not answer.
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

import Base

extension Companion {
  /// Checks the ways to send mails and notifications, the polls and the site. Sends no mail and no
  /// notification.
  ///
  /// - Parameter databaseAnswers: if false, skips checks that need the database.
  package func serviceChecks(databaseAnswers: Bool) -> [CheckLine] {
    [mails.check()] + channelChecks(databaseAnswers: databaseAnswers) + [pollCheck()]
      + siteChecks()
  }

  private func pollCheck() -> CheckLine {
    settings.polling?.check(interval: settings.interval)
      ?? .problem("online-go.com is not polled: SWITCHBOARD_ADMINISTRATOR is missing")
  }

  /// - Returns: an empty array if the site's URL is not configured.
  private func siteChecks() -> [CheckLine] {
    guard let url = settings.publicURL else { return [] }
    let answer = SiteAnswer(at: url, triesFor: .zero, clock: clock)
    var lines = [answer.problem.map { CheckLine.problem($0) } ?? .ok("the site answers at \(url)")]
    lines += answer.pairingProblem.map { [.problem($0)] } ?? []
    guard WebURL(url)?.isHTTPS == true, let certificate = SiteCertificate(at: url, clock: clock)
    else {
      return lines
    }
    return lines + [
      answer.isTrusted ? certificateCheck(certificate) : untrustedCheck(certificate)
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
}

import Base
import Store

extension Companion {
  /// Checks that this host reaches the push services. Sends no notification.
  ///
  /// - Parameter databaseAnswers: if false, skips checks that need the database.
  func channelChecks(databaseAnswers: Bool) -> [CheckLine] {
    apnsChecks() + (databaseAnswers ? fcmChecks() : fcmChecksWithoutDatabase())
      + webPushChecks()
  }

  /// Tries a connection with TLS and HTTP/2 for each app and host.
  private func apnsChecks() -> [CheckLine] {
    if settings.apns.isEmpty {
      return [
        .unset(
          "notifications are not sent to Apple: \(settings.missingForPushes.joined(separator: " "))"
        )
      ]
    }
    return settings.apns.flatMap { apns in
      [line(of: apns)]
        + [apns.otherEndpoint.flatMap { checkOfOther($0, apns) }].compactMap { $0 }
    }
  }

  private func line(of apns: APNsSettings) -> CheckLine {
    if let problem = problem(to: apns.endpoint, apns) {
      return .problem("notifications are not sent to Apple: \(problem) (\(apns.topic))")
    }
    return .ok(
      "\(apns.endpoint) accepts connections for \(apns.topic); only a notification shows whether it accepts the key"
    )
  }

  /// - Returns: nil if the other host can be reached, which is tried with tokens that the first
  ///   host refuses.
  private func checkOfOther(_ endpoint: APNsEndpoint, _ apns: APNsSettings) -> CheckLine? {
    problem(to: endpoint, apns).map {
      .unset(
        "\(endpoint) is not asked about tokens of \(apns.topic) that the first host refuses: \($0)")
    }
  }

  private func problem(to endpoint: APNsEndpoint, _ apns: APNsSettings) -> String? {
    do throws(APNsConnectionError) {
      _ = try TLSConnection.establish(
        to: endpoint, with: apns.trust, within: .seconds(5), by: clock)
      return nil
    } catch {
      return "\(endpoint): \(error)"
    }
  }

  private func fcmChecksWithoutDatabase() -> [CheckLine] {
    settings.fcm == nil
      ? [] : [.unset("sending to Android can be checked only when the database answers")]
  }

  /// Gets an access token for notifications, and asks FCM for an answer.
  private func fcmChecks() -> [CheckLine] {
    guard let fcm = settings.fcm else { return [] }
    let tokens = GoogleTokens(
      database: database, settings: fcm, sealingKeys: settings.keys, clock: clock)
    let failure = "notifications are not sent to Android"
    do {
      _ = try tokens.current(insteadOf: nil)
    } catch {
      return [.problem("\(failure): \(error)")]
    }
    guard let endpoint = Destination(configured: fcm.endpoint) else {
      return [.problem("\(failure): \(fcm.endpoint) is not an address of HTTP")]
    }
    if let problem = problem(to: endpoint) {
      return [.problem("\(failure): \(fcm.endpoint) is not reached: \(problem)")]
    }
    return [.ok("Google lets \(fcm.account) send to Android")]
  }

  /// Tries each push service whose host name is configured.
  private func webPushChecks() -> [CheckLine] {
    guard let webPush = settings.webPush else { return [] }
    return webPush.services.hosts.map {
      webPushCheck(of: $0, trusting: webPush.certificatesFile)
    }
  }

  /// Tries a push service. No answer is not a problem, because a site may have no users of its
  /// browsers.
  func webPushCheck(of host: String, trusting certificates: String?) -> CheckLine {
    let url = "https://\(host)"
    return problem(to: ForeignURL(url), trusting: certificates).map {
      .unset("notifications are not sent to browsers by \(url): it is not reached: \($0)")
    } ?? .ok("\(url) is reached, for browsers")
  }

  /// Reason why `url` does not answer; nil if it does. Applies the same rules as for a URL from a
  /// row.
  private func problem(to url: ForeignURL, trusting certificates: String?) -> String? {
    do throws(HTTPError) {
      return problem(
        to: try .foreign(url, under: settings.outbound), trusting: certificates)
    } catch {
      return error.reason
    }
  }

  private func problem(
    to destination: Destination, trusting certificates: String? = nil
  ) -> String? {
    let client = HTTPClient(
      userAgent: "switchboard/\(Product.version)", trusting: certificates, clock: clock)
    var limits = HTTPClient.Limits()
    (limits.connecting, limits.total) = (.seconds(3), .seconds(5))
    do throws(HTTPError) {
      _ = try client.get(destination, entityTag: nil, limits: limits)
      return nil
    } catch {
      return [.tooLarge, .redirected].contains(error.kind) ? nil : error.reason
    }
  }
}

import Base
import Store

extension Companion {
  /// Checks that this host reaches the push services. Sends no notification.
  ///
  /// - Parameter databaseAnswers: if false, skips checks that need the database.
  func channelFindings(databaseAnswers: Bool) -> [Finding] {
    apnsFindings() + (databaseAnswers ? fcmFindings() : fcmFindingsWithoutDatabase())
      + webPushFindings()
  }

  /// Tries a connection with TLS and HTTP/2 for each app and host.
  private func apnsFindings() -> [Finding] {
    if settings.apns.isEmpty {
      return [
        .unset(
          "notifications are not sent to Apple: \(settings.missingForPushes.joined(separator: " "))"
        )
      ]
    }
    return settings.apns.flatMap { apns in
      [finding(of: apns)]
        + [apns.otherEndpoint.flatMap { findingOfOther($0, apns) }].compactMap { $0 }
    }
  }

  private func finding(of apns: APNsSettings) -> Finding {
    if let obstacle = obstacle(to: apns.endpoint, apns) {
      return .fault("notifications are not sent to Apple: \(obstacle) (\(apns.topic))")
    }
    return .ok(
      "\(apns.endpoint) accepts connections for \(apns.topic); only a notification shows whether it accepts the key"
    )
  }

  /// - Returns: nil if the other host can be reached, which is tried with tokens that the first
  ///   host refuses.
  private func findingOfOther(_ endpoint: APNsEndpoint, _ apns: APNsSettings) -> Finding? {
    obstacle(to: endpoint, apns).map {
      .unset(
        "\(endpoint) is not asked about tokens of \(apns.topic) that the first host refuses: \($0)")
    }
  }

  private func obstacle(to endpoint: APNsEndpoint, _ apns: APNsSettings) -> String? {
    do throws(APNsConnectionError) {
      _ = try TLSConnection.establish(to: endpoint, with: apns.trust, within: .seconds(5))
      return nil
    } catch {
      return "\(endpoint): \(error)"
    }
  }

  private func fcmFindingsWithoutDatabase() -> [Finding] {
    settings.fcm == nil
      ? [] : [.unset("sending to Android can be checked only when the database answers")]
  }

  /// Gets an access token for notifications, and asks FCM for an answer.
  private func fcmFindings() -> [Finding] {
    guard let fcm = settings.fcm else { return [] }
    let tokens = GoogleTokens(database: database, settings: fcm, sealingKeys: settings.keys)
    let failure = "notifications are not sent to Android"
    do {
      _ = try tokens.current(insteadOf: nil)
    } catch {
      return [.fault("\(failure): \(error)")]
    }
    guard let endpoint = Destination(configured: fcm.endpoint) else {
      return [.fault("\(failure): \(fcm.endpoint) is not an address of HTTP")]
    }
    if let obstacle = obstacle(to: endpoint) {
      return [.fault("\(failure): \(fcm.endpoint) is not reached: \(obstacle)")]
    }
    return [.ok("Google lets \(fcm.account) send to Android")]
  }

  /// Tries each push service whose host name is configured.
  private func webPushFindings() -> [Finding] {
    guard let webPush = settings.webPush else { return [] }
    return webPush.services.hosts.map {
      webPushFinding(of: $0, trusting: webPush.certificatesFile)
    }
  }

  /// Tries a push service. No answer is not a problem, because a site may have no users of its
  /// browsers.
  func webPushFinding(of host: String, trusting certificates: String?) -> Finding {
    let url = "https://\(host)"
    return obstacle(to: ForeignURL(url), trusting: certificates).map {
      .unset("notifications are not sent to browsers by \(url): it is not reached: \($0)")
    } ?? .ok("\(url) is reached, for browsers")
  }

  /// Reason why `url` does not answer; nil if it does. Applies the same rules as for a URL from a
  /// row.
  private func obstacle(to url: ForeignURL, trusting certificates: String?) -> String? {
    do throws(HTTPError) {
      return obstacle(
        to: try .foreign(url, under: settings.outbound), trusting: certificates)
    } catch {
      return error.reason
    }
  }

  private func obstacle(
    to destination: Destination, trusting certificates: String? = nil
  ) -> String? {
    let client = HTTPClient(userAgent: "switchboard/\(Product.version)", trusting: certificates)
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

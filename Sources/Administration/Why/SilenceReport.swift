package import Store

/// Explains why a phone did not ring.
package struct SilenceReport: Sendable {
  let records: Records

  /// Maximum number of tokens, users and games in an answer, so that it stays readable.
  static let most = 10
  /// Number of deliveries that are read to find the newest one to each device.
  static let mostDeliveries = 200

  package init(records: Records) {
    self.records = records
  }

  /// Explains a device token or its beginning, an e-mail address, or the number of a user or a game
  /// of online-go.com. A number may be several of these.
  ///
  /// - Returns: nil if nothing is known.
  /// - Throws: ``BadArguments``.
  package func explain(_ question: String) throws -> Explanation? {
    var explanation = Explanation(of: question)
    let isKnown =
      question.contains("@")
      ? try explainAccount(question, in: &explanation)
      : try explainNumbers(question, in: &explanation)
    guard isKnown else { return nil }
    try explainCompanion(in: &explanation)
    return explanation
  }

  private func explainNumbers(
    _ question: String, in explanation: inout Explanation
  ) throws -> Bool {
    let number = question.utf8.allSatisfy(\.isDigit) ? Int64(question) : nil
    let prefixes = tokenPrefixes(question)
    guard number != nil || !prefixes.isEmpty else {
      throw BadArguments(
        "Give a device token or at least the first 8 digits of one, an e-mail address, or the number of a user or a game of "
          + "online-go.com.")
    }
    var isKnown = false
    if let number {
      isKnown = try explainUser(number, in: &explanation)
      isKnown = try explainGame(number, in: &explanation) || isKnown
    }
    for prefix in prefixes where try explainTokens(prefix, in: &explanation) { return true }
    return isKnown
  }

  /// Token prefixes to search for. Removes characters that apps print around a token. Apple's
  /// tokens are stored in lower-case hex, and others as the app sent them.
  private func tokenPrefixes(_ question: String) -> [String] {
    let hex = DeviceToken.normalized(question)
    if hex.utf8.count >= 8, hex.utf8.allSatisfy({ $0.hexDigitValue != nil }) {
      return hex == question ? [hex] : [hex, question]
    }
    let isToken = question.utf8.allSatisfy { $0.isAlphanumeric || ":_.-".utf8.contains($0) }
    return isToken && question.utf8.count >= 20 ? [question] : []
  }

  /// Adds the problems that affect all notifications.
  private func explainCompanion(in explanation: inout Explanation) throws {
    guard let companion = try records.companions.companionStatus() else {
      explanation.blame(
        "companion_never_ran",
        "No companion has ever ended a pass, so nothing is sent. Start it: systemctl enable --now switchboard-companion.timer"
      )
      return
    }
    if companion.isOverdue {
      explanation.blame(
        "companion_overdue",
        "The companion ended its last pass \(companion.lastPassAt.span(to: records.now)) ago, so nothing is sent. Look at it: "
          + "systemctl status switchboard-companion.timer switchboard-companion")
    }
    if companion.missing.contains("SWITCHBOARD_ADMINISTRATOR") {
      explanation.blame(
        "not_polled",
        "The companion does not ask online-go.com whose turn it is: set SWITCHBOARD_ADMINISTRATOR.")
    }
    try explainFailures(in: &explanation)
    let apns = companion.missing.filter { $0.hasPrefix("APNS_") }
    if !apns.isEmpty, explanation.isOfApple {
      explanation.blame(
        "apns_not_configured",
        "Apple's push service is not configured, so no notification is sent: set \(apns.joined(separator: ", "))."
      )
    }
  }

  /// Adds the problems of the services that the devices depend on.
  private func explainFailures(in explanation: inout Explanation) throws {
    let failing = try records.problems.failing()
    for problem in failing {
      let sentence = "\(problem.reason) \(problem.name.advice)"
      switch problem.name {
      case .apns where explanation.isOfApple: explanation.blame("apns_failing", sentence)
      case .fcm where explanation.platforms.contains(.android):
        explanation.blame("fcm_failing", sentence)
      case .webPush where explanation.platforms.contains(.web):
        explanation.blame("webpush_failing", sentence)
      case .ogs: explanation.blame("ogs_failing", sentence)
      default: break  // does not affect notifications
      }
    }
    // A problem of FCM means that it is configured.
    if explanation.platforms.contains(.android), !failing.contains(where: { $0.name == .fcm }) {
      explanation.blame(
        "android",
        "Android devices get notifications only where FCM_SERVICE_ACCOUNT is set: switchboard status tells."
      )
    }
  }
}

extension Explanation {
  /// Whether the answer concerns Apple's push service.
  fileprivate var isOfApple: Bool {
    platforms.isEmpty || !platforms.isDisjoint(with: [.ios, .macos])
  }
}

extension Polls {
  /// Counts a check that a job requests.
  ///
  /// - Parameter siteLimit: the limit of checks of all users in a minute.
  /// - Returns: whether online-go.com may be asked.
  package func admitCheck(of userID: Int64, siteLimit: Int64) throws -> Bool {
    try records.transaction { transaction in
      let limits = transaction.jobLimits
      guard try limits.admit(.turnChecks, of: "\(userID)") else { return false }
      return try limits.admit(
        JobLimit(name: "turns-check-site", allowed: siteLimit, window: .seconds(60)), of: "site")
    }
  }
}

extension JobLimit {
  fileprivate static let turnChecks = JobLimit(
    name: "turns-check", allowed: 2 * Limit.turnChecks.allowed, window: Limit.turnChecks.window)
}

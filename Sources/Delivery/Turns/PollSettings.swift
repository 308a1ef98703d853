import Base
package import Store

/// Settings for polling online-go.com.
package struct PollSettings: Sendable {
  /// `https://…` without a final slash.
  package let baseURL: String
  /// E-mail address of our administrator, or the site's URL.
  package let contact: String
  /// Maximum rate, even if the interval requires more.
  package let requestsPerSecond: Int
  package let pace: PollPace
  /// Prefix for the text of a notification: `[dev] `, or empty.
  package let prefix: String

  package init(
    baseURL: String, contact: String, requestsPerSecond: Int, pace: PollPace, prefix: String
  ) {
    self.baseURL = baseURL
    self.contact = contact
    self.requestsPerSecond = requestsPerSecond
    self.pace = pace
    self.prefix = prefix
  }

  /// `Switchboard/1.1.0 (+contact)`
  var userAgent: String { "Switchboard/\(Product.version) (+\(contact))" }

  /// Result of the check. `interval` is the interval of the companion's passes.
  func check(interval: Duration) -> CheckLine {
    let users = Int64(requestsPerSecond) * interval.components.seconds
    return .ok(
      "online-go.com is polled as \(userAgent), at most \(requestsPerSecond) times a "
        + "second: with more than \(users) users whose games move, each is polled less often")
  }
}

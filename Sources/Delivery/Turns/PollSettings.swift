package import Store

/// How online-go.com is polled.
package struct PollSettings: Sendable {
  /// `https://…` without a final slash.
  package let baseURL: String
  /// An address or a URL at which its administrators reach ours.
  package let contact: String
  /// At most, even where the interval asks for more.
  package let requestsPerSecond: Int
  package let pace: PollPace
  /// Before the text of a notification: `[dev] `, or nothing.
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

  /// `Switchboard/1.0.0 (+contact)`
  var userAgent: String { "Switchboard/\(Product.version) (+\(contact))" }

  /// The finding of the check: `interval` is that of the companion's passes.
  func check(interval: Duration) -> Finding {
    let users = Int64(requestsPerSecond) * interval.components.seconds
    return .ok(
      "online-go.com is polled as \(userAgent), at most \(requestsPerSecond) times a "
        + "second: with more than \(users) users whose games move, each is polled less often")
  }
}

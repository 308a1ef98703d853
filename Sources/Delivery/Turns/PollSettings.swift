import Base
import Program
package import Store

/// How online-go.com is polled.
package struct PollSettings: Sendable {
  /// `https://…` without a final slash.
  package let baseURL: String
  /// An address or a URL at which its administrators reach ours.
  package let contact: String
  /// At most; it rules where the interval would ask for more.
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

  /// - Returns: nil where nobody is named whom online-go.com could write to, or after a complaint in
  ///   `environment`.
  init?(from environment: inout Environment, interval: Duration) {
    let baseURL = environment.optional("OGS_BASE_URL") ?? "https://online-go.com"
    let name = environment.optional("ENVIRONMENT") ?? "none"
    let requests = environment.integer("OGS_REQUESTS_PER_SECOND", in: 1...1000, default: 5)
    let contact =
      environment.optional("SWITCHBOARD_CONTACT") ?? environment.optional("SWITCHBOARD_MAIL_FROM")
      ?? environment.optional("SWITCHBOARD_PUBLIC_URL")
    if !Self.isURL(baseURL) {
      environment.complain(
        about: "OGS_BASE_URL", "must be an http or https address without a final slash")
    }
    if name.hasControls || name.unicodeScalars.count > 40 {
      environment.complain(about: "ENVIRONMENT", "must be a word of at most 40 characters")
    }
    guard let contact else { return nil }
    guard !contact.hasControls, !contact.contains(where: { "()".contains($0) }) else {
      environment.complain(
        about: "SWITCHBOARD_CONTACT", "must be an e-mail address or a URL, without parentheses")
      return nil
    }
    self.init(
      baseURL: baseURL, contact: contact, requestsPerSecond: requests,
      pace: PollPace(interval: interval), prefix: name == "none" ? "" : "[\(name)] ")
  }

  /// `Switchboard/1.0.0 (+contact)`
  var userAgent: String { "Switchboard/\(Companion.version) (+\(contact))" }

  private static func isURL(_ text: String) -> Bool {
    let isURL = text.hasPrefix("https://") || text.hasPrefix("http://")
    return isURL && !text.hasSuffix("/") && !text.hasControls && !text.contains(" ")
  }
}

/// Answer of a server.
struct HTTPAnswer {
  let status: Int
  let body: [UInt8]
  /// `ETag`
  let entityTag: String?
  /// `Retry-After`, given as seconds or as a date (RFC 9110 §10.2.3); at most ``longestRetryAfter``.
  let retryAfter: Duration?

  /// A server that asks for a longer wait is asked again after a day.
  static let longestRetryAfter = Duration.seconds(86_400)
}

/// Reason why there is no answer.
struct HTTPError: Error, Equatable {
  enum Kind {
    /// No connection, no TLS, no answer in time, or an incomplete answer.
    case transport
    /// The body is larger than the limit.
    case tooLarge
    /// A redirect to another host or not to https, or too many redirects.
    case redirected
    /// Not a URL, or a URL that curl reads differently.
    case malformed
    /// The host has an address that the rule does not admit.
    case forbiddenAddress
  }

  let kind: Kind
  let reason: String
  /// Whether the reason is that the server's certificate is not trusted.
  var isUntrusted = false
}

extension HTTPError {
  static let malformed = HTTPError(
    kind: .malformed, reason: "not an address of HTTP that can be read")

  static func forbidden(_ address: String) -> HTTPError {
    HTTPError(
      kind: .forbiddenAddress,
      reason: "its address \(address) is private: see SWITCHBOARD_OUTBOUND_ALLOW")
  }
}

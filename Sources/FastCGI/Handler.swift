package import HTTP

/// Answers the requests of a ``Server``.
package struct Handler: Sendable {
  /// The limit of requests that ``respondTogether`` gets.
  package static let groupLimit = 32

  /// Answers one request.
  let respond: @Sendable (Request) -> Response
  /// The group of a request. Requests of one group that wait at the same time are answered together; nil means alone.
  let group: @Sendable (Request) -> String?
  /// Answers requests of one group; returns the responses in the order of the requests.
  let respondTogether: @Sendable ([Request]) -> [Response]

  package init(
    group: @escaping @Sendable (Request) -> String? = { _ in nil },
    respondTogether: @escaping @Sendable ([Request]) -> [Response] = { _ in [] },
    respond: @escaping @Sendable (Request) -> Response
  ) {
    self.group = group
    self.respondTogether = respondTogether
    self.respond = respond
  }
}

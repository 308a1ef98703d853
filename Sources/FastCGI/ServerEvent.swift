/// An event that a ``Server`` reports to its creator.
package enum ServerEvent: Sendable {
  /// The server answers requests.
  case ready
  /// A thread was free to serve a request, so not all threads hang.
  case alive
  /// The server accepts no new connections.
  case stopping
}

/// Limits of time of a relay.
package struct RelayLimits: Sendable {
  /// Limit for the head of the first request on a connection from the web server.
  var head = Duration.seconds(10)
  /// Limit for the answer of the database about a client.
  var ask = Duration.seconds(5)
  /// Limit for a connection to one address of the agent.
  var connect = Duration.seconds(2)
  /// Limit for the web server, after an answer, to close the connection or to send the next request.
  var answer = Duration.seconds(10)
  /// Time that an idle connection to the agent is kept. Short, because some agents serve no one else
  /// while a connection is open.
  var idle = Duration.seconds(1)
  /// Limit for the requests that are not over when the relay stops.
  var drain = Duration.seconds(5)

  package init() {}
}

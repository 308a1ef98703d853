/// Answers that the relay itself sends.
enum RelayAnswer {
  case malformed, foreignPath, notAdmitted, agentAway, malformedAnswer
  /// The client's pairing has ended.
  case endedClient
  /// The database has not answered whether the client's pairing is valid.
  case unknownClient
  /// Only for the responder: the agent accepts connections.
  case agentAnswers

  init(_ refusal: RelayHead.Refusal) {
    switch refusal {
    case .malformed: self = .malformed
    case .foreignPath: self = .foreignPath
    case .notAdmitted: self = .notAdmitted
    }
  }

  /// The whole answer. Errors have the same format as the other errors of pairing.
  var bytes: [UInt8] {
    let (status, message) = statusAndMessage
    let body = message.isEmpty ? "" : #"{"error":"\#(message)"}"#
    let retry = status.hasPrefix("503") ? "Retry-After: 2\r\n" : ""
    return Array(
      """
      HTTP/1.1 \(status)\r
      Content-Type: application/json\r
      Content-Length: \(body.utf8.count)\r
      Cache-Control: no-store\r
      \(retry)Connection: close\r
      \r
      \(body)
      """.utf8)
  }

  private var statusAndMessage: (status: String, message: String) {
    switch self {
    case .malformed: ("400 Bad Request", "Bad request")
    case .foreignPath: ("404 Not Found", "Not found")
    case .notAdmitted: ("500 Internal Server Error", "Internal server error")
    case .agentAway:
      ("503 Service Unavailable", "The agent does not answer. Start it, and then try again.")
    case .malformedAnswer:
      ("502 Bad Gateway", "The agent sent something that is not an HTTP answer. Look at its log.")
    case .endedClient: ("401 Unauthorized", "Unauthorized")
    case .unknownClient:
      ("503 Service Unavailable", "The database does not answer. Try again soon.")
    case .agentAnswers: ("204 No Content", "")
    }
  }
}

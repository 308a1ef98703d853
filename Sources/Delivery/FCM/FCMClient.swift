import Base
import Synchronization

/// Sends messages to FCM in parallel, over connections that it keeps between runs.
final class FCMClient: Sendable {
  /// Maximum number of requests in flight.
  static let concurrency = 8

  private let settings: FCMSettings
  private let tokens: GoogleTokens
  private let limits: HTTPClient.Limits
  let clock: LimitClock
  private let kept = Mutex<[FCMConnection]>([])

  init(
    _ settings: FCMSettings, _ tokens: GoogleTokens, answerLimit: Duration, clock: LimitClock
  ) {
    self.settings = settings
    self.tokens = tokens
    self.clock = clock
    limits = HTTPClient.Limits(
      connecting: min(answerLimit, .seconds(3)), total: answerLimit, body: 64 << 10)
  }

  /// Number of kept connections, on which nothing is being sent.
  var keptCount: Int { kept.withLock { $0.count } }

  /// Closes the kept connections.
  func close() { kept.withLock { $0 = [] } }

  /// Sends messages. Resends a message once with a new access token if Google refuses the first
  /// token.
  ///
  /// - Parameters:
  ///   - messages: JSON bodies.
  ///   - isOver: returns true if no more is to be sent.
  /// - Returns: the outcomes, in the order of the messages; nil for a message that was not sent,
  ///   because `isOver` returned true or an earlier message got no answer.
  /// - Throws: ``GoogleTokenError``; the database's error if it does not answer.
  func send(
    _ messages: [[UInt8]], isOver: () -> Bool = { false }
  ) throws -> [FCMOutcome?] {
    let token = try tokens.current(insteadOf: nil)
    if isOver() { return messages.map { _ in nil } }
    var outcomes = try send(messages, with: token)
    let refused = outcomes.indices.filter {
      outcomes[$0]?.action(attempts: 1) == .renewAccessToken
    }
    if refused.isEmpty || isOver() { return outcomes }
    let renewed = try tokens.current(insteadOf: token)
    for (index, outcome) in zip(refused, try send(refused.map { messages[$0] }, with: renewed)) {
      outcomes[index] = outcome
    }
    return outcomes
  }

  private func send(_ messages: [[UInt8]], with token: String) throws -> [FCMOutcome?] {
    let shares = (0..<min(messages.count, Self.concurrency)).map { first in
      stride(from: first, to: messages.count, by: Self.concurrency).map { $0 }
    }
    let sent = try atOnce(
      shares.map { share in
        { [self] in
          let connection = kept.withLock { $0.popLast() } ?? FCMConnection(clock)
          defer { kept.withLock { $0.append(connection) } }
          var isSilent = false
          return share.map { index -> (Int, FCMOutcome?) in
            // Each further message would wait as long.
            if isSilent { return (index, nil) }
            let outcome = connection.send(
              messages[index], to: settings.sendURL, token, limits)
            if case .unanswered = outcome { isSilent = true }
            return (index, outcome)
          }
        }
      })
    return sent.joined().sorted { $0.0 < $1.0 }.map(\.1)
  }
}

/// Connection to FCM.
// @unchecked: only the thread that took it from the client uses it.
private final class FCMConnection: @unchecked Sendable {
  private let client: HTTPClient

  init(_ clock: LimitClock) {
    client = HTTPClient(userAgent: "Switchboard/\(Product.version)", clock: clock)
  }

  func send(
    _ message: [UInt8], to url: String, _ token: String, _ limits: HTTPClient.Limits
  ) -> FCMOutcome {
    guard let destination = Destination(configured: url), destination.isConfidential else {
      return .unanswered("it is not an https address")
    }
    do throws(HTTPError) {
      return FCMOutcome(
        try client.post(
          message, to: destination,
          fields: ["Authorization: Bearer \(token)", "Content-Type: application/json"],
          limits: limits))
    } catch {
      return .unanswered(error.reason)
    }
  }
}

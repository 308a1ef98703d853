import Base
import Synchronization

/// Sends messages to FCM, several at once, over connections that it keeps from run to run.
final class FCMClient: Sendable {
  /// Requests in flight at most.
  static let concurrency = 8

  private let settings: FCMSettings
  private let tokens: GoogleTokens
  private let kept = Mutex<[FCMConnection]>([])

  init(_ settings: FCMSettings, _ tokens: GoogleTokens) {
    self.settings = settings
    self.tokens = tokens
  }

  /// Closes the connections that are kept.
  func close() { kept.withLock { $0 = [] } }

  /// What became of each message, in their order. Those whose access token Google refuses are sent again, once, with a
  /// new one.
  ///
  /// - Parameter messages: bodies, JSON.
  /// - Throws: ``GoogleTokenError``; where the database does not answer.
  func send(_ messages: [[UInt8]]) throws -> [FCMOutcome] {
    let token = try tokens.current(insteadOf: nil)
    var outcomes = try send(messages, with: token)
    let refused = outcomes.indices.filter {
      outcomes[$0].action(attempts: 1) == .renewAccessToken
    }
    if refused.isEmpty { return outcomes }
    let renewed = try tokens.current(insteadOf: token)
    for (index, outcome) in zip(refused, try send(refused.map { messages[$0] }, with: renewed)) {
      outcomes[index] = outcome
    }
    return outcomes
  }

  private func send(_ messages: [[UInt8]], with token: String) throws -> [FCMOutcome] {
    let shares = (0..<min(messages.count, Self.concurrency)).map { first in
      stride(from: first, to: messages.count, by: Self.concurrency).map { $0 }
    }
    let sent = try atOnce(
      shares.map { share in
        { [self] in
          let connection = kept.withLock { $0.popLast() } ?? FCMConnection()
          defer { kept.withLock { $0.append(connection) } }
          return share.map { ($0, connection.send(messages[$0], to: settings.sendURL, token)) }
        }
      })
    return sent.joined().sorted { $0.0 < $1.0 }.map(\.1)
  }
}

/// A connection to FCM.
// @unchecked: whoever took it from the client uses it alone.
private final class FCMConnection: @unchecked Sendable {
  private let client = HTTPClient(userAgent: "Switchboard/\(Product.version)")

  private static let limits = {
    var limits = HTTPClient.Limits()
    limits.connecting = .seconds(3)
    limits.total = .seconds(8)
    limits.body = 64 << 10
    return limits
  }()

  func send(_ message: [UInt8], to url: String, _ token: String) -> FCMOutcome {
    guard let destination = Destination(configured: url), destination.isConfidential else {
      return .unanswered("it is no https address")
    }
    do throws(HTTPError) {
      return FCMOutcome(
        try client.post(
          message, to: destination,
          fields: ["Authorization: Bearer \(token)", "Content-Type: application/json"],
          limits: Self.limits))
    } catch {
      return .unanswered(error.reason)
    }
  }
}

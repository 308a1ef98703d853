import Base
import Store
import Synchronization

/// Sends notifications to APNs over one connection at a time, which it keeps from run to run: Apple
/// takes frequent connecting for an attack.
package final class APNsClient: Sendable {
  package struct Limits: Sendable {
    package var engine = APNsEngine.Limits()
    /// Of connecting and handshake.
    package var connecting: Duration = .seconds(7)
    /// Before the second fruitless connection in a row; twice as long before each further one.
    package var backOff: Duration = .milliseconds(200)
    /// Connections in a row on which nothing was answered.
    package var fruitlessConnections = 4
    /// How often a notification is sent again in one run, after its connection was lost.
    package var resendsAfterLoss = 2
    /// The same, after Apple said that it had not taken it.
    package var resendsAfterRefusal = 16
    /// How long the answers to what is in flight are waited for when the run is over.
    package var answersAtEnd: Duration = .seconds(5)

    package init() {}
  }

  let endpoint: APNsEndpoint
  let trust: TLSContext
  let limits: Limits
  /// Gives the provider token; its argument is the one that Apple has just called expired, nil at
  /// first. To give that one back says that there is none newer.
  let providerToken: @Sendable (_ refused: String?) throws -> String
  private let kept = Mutex<APNsConnection?>(nil)

  package init(
    endpoint: APNsEndpoint, trust: TLSContext, limits: Limits = Limits(),
    providerToken: @escaping @Sendable (_ refused: String?) throws -> String
  ) {
    self.endpoint = endpoint
    self.trust = trust
    self.limits = limits
    self.providerToken = providerToken
  }

  /// Takes notifications from `next`, sends them, and reports each of them exactly once.
  ///
  /// Opens no connection if there is no notification.
  ///
  /// - Parameters:
  ///   - deadline: nothing is taken or sent after it. What is in flight then has its request lifetime
  ///     left, which bounds the run.
  ///   - isOver: whether nothing more is to be sent. What is in flight then has ``Limits/answersAtEnd`` left.
  ///   - next: gives at most as many as asked for; none means that there are no more. Ids are unique.
  ///   - report: called with the last outcome of a notification in this run.
  package func run(
    until deadline: ContinuousClock.Instant, isOver: () -> Bool = { false },
    next: (Int) -> [APNsNotification], report: (APNsNotification, APNsOutcome) -> Void
  ) -> APNsRun {
    // Otherwise the program would depend on the length of the path of this file.
    #sourceLocation(file:"APNsClient.run",line:56)
    withoutActuallyEscaping(next) { next in
      withoutActuallyEscaping(report) { report in
        withoutActuallyEscaping(isOver) { isOver in
          APNsSending(self, until: deadline, isOver: isOver, next: next, report: report).run()
        }
      }
    }
    #sourceLocation()
  }
}

extension APNsClient {
  /// Closes the connection that is kept, if there is one.
  package func close() { replaceKept(by: nil) }

  /// Keeps `connection` for the next run.
  func keepOpen(_ connection: APNsConnection) { replaceKept(by: connection) }

  /// The connection that is kept, if it is of use for requests with `providerToken`.
  func takeKept(for providerToken: String) -> APNsConnection? {
    guard let kept = replaceKept(by: nil), kept.providerToken == providerToken, kept.isUsable
    else { return nil }
    return kept
  }

  @discardableResult
  private func replaceKept(by connection: APNsConnection?) -> APNsConnection? {
    kept.withLock { kept in
      defer { kept = connection }
      return kept
    }
  }
}

/// What happened in a run.
package struct APNsRun: Sendable {
  /// Notifications reported.
  package var reported = 0
  /// Of these, accepted.
  package var accepted = 0
  /// Connections made or tried; not the one kept from the run before.
  package var connections = 0
  /// Times that a notification was sent again.
  package var resent = 0
  package var end = End.finished

  package init() {}

  package enum End: Sendable, CustomStringConvertible {
    case finished
    /// The time was up.
    case overdue
    /// Apple refuses to serve us.
    case stopped(APNsOutcome.Reason)
    /// There is no provider token.
    case noProviderToken(any Error)
    /// Too many connections in a row on which nothing was answered, or too many for what was.
    case unreachable(APNsConnectionError)

    /// Names no host: whoever asks for the site's health may read it.
    package var description: String {
      switch self {
      case .finished: "finished"
      case .overdue: "the time was up"
      case .stopped(let reason): "Apple refuses to serve us: \(reason.rawValue)"
      case .noProviderToken(let error):
        "there is no provider token: \(Database.isUnavailable(error) ? "the database does not answer" : "\(error)")"
      case .unreachable(let error): error.cause
      }
    }
  }
}

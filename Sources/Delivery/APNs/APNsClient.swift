import Base
import Store
import Synchronization

/// Sends notifications to APNs over one connection, or over several while the streams of one are too few. Keeps them
/// between runs, because Apple asks for long-lived connections and treats frequent connecting as an attack.
package final class APNsClient: Sendable {
  package struct Limits: Sendable {
    package var engine = APNsEngine.Limits()
    /// Connections at once.
    package var connections = 4
    /// Notifications per second, for which there are several connections if one is too slow.
    package var rate = 40_000
    /// Time limit for connecting and handshake together.
    package var connecting: Duration = .seconds(7)
    /// The same for a connection beside others: meanwhile nothing is read from those.
    package var addingConnection: Duration = .seconds(2)
    /// Time without another connection beside others after one that was of no use.
    package var pauseOfAdding: Duration = .seconds(60)
    /// Age from which a connection is not kept: the next one looks up Apple's addresses again.
    package var connectionLifetime: Duration = .seconds(3600)
    /// Idle time after which a kept connection must answer a PING before its use.
    package var idle: Duration = .seconds(60)
    /// Time limit for this answer.
    package var pingAnswer: Duration = .seconds(1)
    /// Delay after the first connection without an answer; doubles with each further one in a row.
    package var backOff: Duration = .milliseconds(200)
    /// Connections without an answer in a row, after which the run ends.
    package var fruitlessConnections = 4
    /// Resends of one notification in one run after its connection was lost.
    package var resendsAfterLoss = 2
    /// Resends of one notification in one run after Apple did not process it.
    package var resendsAfterRefusal = 16
    /// Time to wait at the end of a run for answers to notifications in flight.
    package var answersAtEnd: Duration = .seconds(5)

    package init() {}
  }

  let endpoint: APNsEndpoint
  let trust: TLSContext
  let limits: Limits
  let clock: LimitClock
  /// Returns the provider token. Its argument is the token that Apple has just called expired; nil
  /// at first. Returning the argument means that there is no newer token.
  let providerToken: @Sendable (_ refused: String?) throws -> String
  private let kept = Mutex<[APNsConnection]>([])
  /// End of the time without connections beside others; nil if there was none.
  private let addsConnectionsFrom = Mutex<ContinuousClock.Instant?>(nil)

  package init(
    endpoint: APNsEndpoint, trust: TLSContext, limits: Limits = Limits(),
    clock: LimitClock = .system,
    providerToken: @escaping @Sendable (_ refused: String?) throws -> String
  ) {
    self.endpoint = endpoint
    self.trust = trust
    self.limits = limits
    self.clock = clock
    self.providerToken = providerToken
  }

  /// Takes notifications from `next`, sends them, and reports each of them exactly once.
  ///
  /// Opens no connection if there is no notification.
  ///
  /// - Parameters:
  ///   - deadline: nothing is taken or sent after it. Notifications in flight then have the rest of
  ///     their request lifetime, which bounds the run.
  ///   - isOver: true if no more is to be sent. Notifications in flight then have
  ///     ``Limits/answersAtEnd`` left.
  ///   - next: returns at most as many as asked for; an empty array ends the run. Ids are unique.
  ///   - report: called with the final outcome of each notification in this run.
  package func run(
    until deadline: ContinuousClock.Instant, isOver: () -> Bool = { false },
    next: (Int) -> [APNsNotification], report: (APNsNotification, APNsOutcome) -> Void
  ) -> APNsRun {
    // Keeps the binary independent of the length of this file's path.
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
  /// Closes the kept connections.
  package func close() { kept.withLock { $0 = [] } }

  /// Keeps `connections` for the next run.
  func keepOpen(_ connections: [APNsConnection]) {
    kept.withLock { $0 += connections.reversed() }
  }

  /// Takes a kept connection that still works and uses `providerToken`, and closes those that are over.
  func takeKept(for providerToken: String) -> APNsConnection? {
    kept.withLock { $0.removeAll { $0.providerToken != providerToken || $0.isOver(limits) } }
    while let connection = kept.withLock({ $0.popLast() }) {
      if connection.isUsable(limits) { return connection }
    }
    return nil
  }
}

extension APNsClient {
  /// Whether a connection may be opened beside others.
  var mayAddConnections: Bool {
    addsConnectionsFrom.withLock { $0.map { clock.now() >= $0 } ?? true }
  }

  /// Called after a connection beside others that was of no use.
  func pauseAddingConnections() {
    addsConnectionsFrom.withLock { $0 = clock.now() + limits.pauseOfAdding }
  }
}

/// Result of a run.
package struct APNsRun: Sendable {
  /// Notifications reported.
  package var reported = 0
  /// Accepted notifications among them.
  package var accepted = 0
  /// Connections opened or tried, without the one kept from the run before.
  package var connections = 0
  /// Resends of all notifications.
  package var resent = 0
  package var end = End.finished

  package init() {}

  package enum End: Sendable, CustomStringConvertible {
    case finished
    /// The deadline has passed.
    case overdue
    /// Apple refuses to serve us.
    case stopped(APNsOutcome.Reason)
    /// There is no provider token.
    case noProviderToken(any Error)
    /// Too many connections in a row without an answer, or too many for the number of answers.
    case unreachable(APNsConnectionError)

    /// Text without a host name, because everyone can read the site's health.
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

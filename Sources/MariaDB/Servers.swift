import Base
import Glibc
import Synchronization

/// The servers that a pool may connect to. If there are several, it uses the first that answers,
/// belongs to the majority of its cluster and is not read-only.
final class Servers: Sendable {
  /// The time for which a connection to a server other than the first is used, so that all programs
  /// return to the first when it is back.
  private static let stay = Duration.seconds(30)

  private let settings: ConnectionSettings
  /// The time between two tries of a failed server.
  private let retryInterval: Duration
  /// The failed servers, with the time of the next try.
  private let failed = Mutex<[ConnectionSettings.Host: ContinuousClock.Instant]>([:])

  init(_ settings: ConnectionSettings, retryInterval: Duration) {
    self.settings = settings
    self.retryInterval = retryInterval
  }

  var areSeveral: Bool { settings.socket == nil && settings.hosts.count > 1 }

  /// Connects. Asks the server whether it accepts writes, if there are several servers.
  ///
  /// - Throws: if no server can be used, ``DatabaseError/Code/readOnlyMode`` if one of them is
  ///   read-only, or else an error that is worth a wait, if one of them may come back.
  func open() throws(DatabaseError) -> Connection {
    guard areSeveral else { return try Connection(settings) }
    var failures: [DatabaseError] = []
    for hosts in choices() {
      var donor: Connection?
      for host in hosts {
        do throws(DatabaseError) {
          let (connection, isDonor) = try open(at: host)
          if !isDonor { return connection }
          donor = donor ?? connection
        } catch {
          avoid(host)
          failures.append(error)
        }
      }
      if let donor { return donor }
    }
    throw failures.first(where: \.isReadOnly) ?? failures.first(where: \.isUnreachable)
      ?? failures[0]
  }

  /// Makes `host` the last choice until it answers again.
  func avoid(_ host: ConnectionSettings.Host) {
    failed.withLock { $0[host] = .now + retryInterval }
  }

  /// Whether a server other than `host` works.
  func haveOther(than host: ConnectionSettings.Host?) -> Bool {
    choices()[0].contains { $0 != host }
  }

  /// Whether a connection that was made at this time should be replaced by one to the first server.
  func isOutdated(_ connection: borrowing Connection, since time: ContinuousClock.Instant) -> Bool {
    areSeveral && connection.host != settings.hosts[0] && ContinuousClock.now - time > Self.stay
  }

  /// The working servers, and the failed ones. While a server works, failed servers are tried again on
  /// threads of their own: a server that is frozen, or that is starting, accepts a connection long
  /// before it answers, and no request should wait for that.
  private func choices() -> [[ConnectionSettings.Host]] {
    let (working, late, due) = failed.withLock { failed in
      let working = settings.hosts.filter { failed[$0] == nil }
      let late = settings.hosts.filter { failed[$0] != nil }
      let due = working.isEmpty ? [] : late.filter { failed[$0]! <= .now }
      for host in due { failed[host] = .now + retryInterval }
      return (working, late, due)
    }
    for host in due {
      // After an error the server is tried again later.
      pthread_detach(startThread { [self] in _ = try? open(at: host) })
    }
    return [working, late]
  }

  private func open(
    at host: ConnectionSettings.Host
  ) throws(DatabaseError) -> (Connection, isDonor: Bool) {
    let connection = try Connection(settings, at: host)
    let state = try connection.serverState()
    if let problem = state.problem {
      let code: DatabaseError.Code = state.isReadOnly ? .readOnlyMode : .nodeNotReady
      throw DatabaseError(code, .connecting, message: "\(host) \(problem)")
    }
    failed.withLock { _ = $0.removeValue(forKey: host) }
    return (connection, state.isDonor)
  }
}

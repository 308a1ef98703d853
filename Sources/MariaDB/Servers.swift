import Synchronization

/// The servers that a pool may connect to. If there are several, it uses the first that answers,
/// belongs to the majority of its cluster and is not read-only.
final class Servers: Sendable {
  /// The time for which a failed server is tried after the others. A frozen server makes callers
  /// wait.
  private static let avoidance = Duration.seconds(10)
  /// The time for which a connection to a server other than the first is used, so that all programs
  /// return to the first when it is back.
  private static let stay = Duration.seconds(30)

  private let settings: ConnectionSettings
  /// The time until which a server is tried last.
  private let avoided = Mutex<[ConnectionSettings.Host: ContinuousClock.Instant]>([:])

  init(_ settings: ConnectionSettings) {
    self.settings = settings
  }

  var areSeveral: Bool { settings.socket == nil && settings.hosts.count > 1 }

  /// Connects. Asks the server whether it accepts writes, if there are several servers.
  ///
  /// - Throws: if no server can be used, ``DatabaseError/Code/readOnlyMode`` if one of them is
  ///   read-only, or else an error that is worth a wait, if one of them may come back.
  func open() throws(DatabaseError) -> Connection {
    guard areSeveral else { return try Connection(settings) }
    var donor: Connection?
    var failures: [DatabaseError] = []
    for host in inOrder() {
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
    throw failures.first(where: \.isReadOnly) ?? failures.first(where: \.isUnreachable)
      ?? failures[0]
  }

  /// Makes `host` the last choice for a while.
  func avoid(_ host: ConnectionSettings.Host) {
    avoided.withLock { $0[host] = .now + Self.avoidance }
  }

  /// Whether a connection that was made at this time should be replaced by one to the first server.
  func isOutdated(_ connection: borrowing Connection, since time: ContinuousClock.Instant) -> Bool {
    areSeveral && connection.host != settings.hosts[0] && ContinuousClock.now - time > Self.stay
  }

  /// The servers, with those that failed lately at the end.
  private func inOrder() -> [ConnectionSettings.Host] {
    avoided.withLock { avoided in
      let late = settings.hosts.filter { avoided[$0].map { $0 > .now } ?? false }
      return settings.hosts.filter { !late.contains($0) } + late
    }
  }

  private func open(
    at host: ConnectionSettings.Host
  ) throws(DatabaseError) -> (Connection, isDonor: Bool) {
    // This caller may wait long for a server that failed. Others try it last meanwhile.
    if avoided.withLock({ $0[host] != nil }) { avoid(host) }
    let connection = try Connection(settings, at: host)
    let state = try connection.serverState()
    if let problem = state.problem {
      let code: DatabaseError.Code = state.isReadOnly ? .readOnlyMode : .nodeNotReady
      throw DatabaseError(code, .connecting, message: "\(host) \(problem)")
    }
    avoided.withLock { _ = $0.removeValue(forKey: host) }
    return (connection, state.isDonor)
  }
}

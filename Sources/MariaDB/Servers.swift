import Synchronization

/// The servers that a pool may connect to. Of several, the first that answers, belongs to the majority of its
/// cluster and is not read-only is used.
final class Servers: Sendable {
  /// A server that failed is tried after the others for so long. A frozen one makes whoever tries it wait.
  private static let avoidance = Duration.seconds(10)
  /// A connection to a server that is not the first is used for so long, so that all programs return to the
  /// first, when it is back.
  private static let stay = Duration.seconds(30)

  private let settings: ConnectionSettings
  /// Until when a server is tried last.
  private let avoided = Mutex<[ConnectionSettings.Host: ContinuousClock.Instant]>([:])

  init(_ settings: ConnectionSettings) {
    self.settings = settings
  }

  var areSeveral: Bool { settings.socket == nil && settings.hosts.count > 1 }

  /// Connects. Asks the server whether it takes writes only where there are several.
  ///
  /// - Throws: where none can be used, ``DatabaseError/Code/readOnlyMode`` if one of them is read-only, or else an
  ///   error after which it is worth to wait, if one of them may come back.
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

  /// Has `host` tried after the others for a while.
  func avoid(_ host: ConnectionSettings.Host) {
    avoided.withLock { $0[host] = .now + Self.avoidance }
  }

  /// Whether a connection that was made at this time should be replaced by one to the first server.
  func isOutdated(_ connection: borrowing Connection, since time: ContinuousClock.Instant) -> Bool {
    areSeveral && connection.host != settings.hosts[0] && ContinuousClock.now - time > Self.stay
  }

  /// Those that have not failed lately come first.
  private func inOrder() -> [ConnectionSettings.Host] {
    avoided.withLock { avoided in
      let late = settings.hosts.filter { avoided[$0].map { $0 > .now } ?? false }
      return settings.hosts.filter { !late.contains($0) } + late
    }
  }

  private func open(
    at host: ConnectionSettings.Host
  ) throws(DatabaseError) -> (Connection, isDonor: Bool) {
    // Whoever tries it again may wait for long. Others do not.
    if avoided.withLock({ $0[host] != nil }) { avoid(host) }
    let connection = try Connection(settings, at: host)
    let state = try connection.serverState()
    if let obstacle = state.obstacle {
      let code: DatabaseError.Code = state.isReadOnly ? .readOnlyMode : .nodeNotReady
      throw DatabaseError(code, .connecting, message: "\(host) \(obstacle)")
    }
    avoided.withLock { _ = $0.removeValue(forKey: host) }
    return (connection, state.isDonor)
  }
}

import MariaDB

extension Database {
  /// The text for a database that could not be inspected.
  package static func problem(_ error: any Error) -> String {
    let isForeign = (error as? DatabaseError)?.isForeign == true
    return isForeign ? "\(error)" : "the database does not answer: \(error)"
  }

  /// Checks each server that `SWITCHBOARD_DB_HOST` names, and whether a statement may miss
  /// writes of another node.
  func inspectServers(_ connection: borrowing Connection) throws -> [Inspection] {
    let servers = pool.areSeveral ? pool.survey() : []
    // The inspection of each server names its error.
    let states =
      servers.isEmpty ? [try connection.serverState()] : servers.compactMap { try? $0.state.get() }
    return servers.map(Inspection.init) + [inspectWaiting(states)].compactMap { $0 }
  }

  /// - Returns: nil without a cluster of several nodes.
  private func inspectWaiting(_ states: [ServerState]) -> Inspection? {
    let nodes = states.compactMap(\.galera)
    guard let size = nodes.map(\.size).max(), size > 1 else { return nil }
    if nodes.allSatisfy(\.statementsWait) {
      return Inspection(
        isRight: true,
        text: "the cluster has \(size) nodes, and statements wait for what others have written")
    }
    return Inspection(
      isRight: false,
      text: "a statement may miss what another node has written, such as a sign-out: set "
        + "wsrep_sync_wait=7 in the configuration of each of the \(size) nodes: see clusters.md")
  }
}

extension Inspection {
  fileprivate init(_ server: (host: String, state: Result<ServerState, DatabaseError>)) {
    switch server.state {
    case .success(let state):
      let kind = state.galera == nil ? "server" : "Galera node"
      let isCutOff = state.galera?.isPrimary == false
      self.init(
        isRight: !isCutOff,
        text: "the \(kind) \(server.host) \(state.problem ?? "takes writes")")
    case .failure(let error):
      self.init(isRight: false, text: "the server \(server.host) cannot be used: \(error)")
    }
  }
}

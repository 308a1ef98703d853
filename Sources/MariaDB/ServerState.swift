/// What one of several servers says about itself.
package struct ServerState: Sendable {
  package let isReadOnly: Bool
  /// nil where the server belongs to no Galera cluster.
  package let galera: GaleraState?

  /// Why no statement may be sent there now; nil where it may.
  package var obstacle: String? {
    if let galera, !galera.isPrimary { return "is cut off from its cluster" }
    return isReadOnly ? "is read-only" : nil
  }

  /// Whether it takes writes, but is busy with bringing another node up to date.
  var isDonor: Bool { galera?.isSynced == false }
}

/// What a Galera node says about itself.
package struct GaleraState: Sendable {
  /// Whether the node belongs to the majority.
  package let isPrimary: Bool
  /// Whether the node has applied what the others have written, and is not copied by another one.
  package let isSynced: Bool
  /// The number of nodes in the cluster.
  package let size: Int
  /// Whether reads wait for what other nodes have committed (`wsrep_sync_wait` with bit 1).
  package let readsWait: Bool
}

extension Connection {
  /// Asks the server. A Galera node answers also where it takes no other statement, and while it catches up: it is
  /// asked by SHOW, because a SELECT waits for what other nodes have written.
  package func serverState() throws(DatabaseError) -> ServerState {
    var values: [String: String] = [:]
    let pairs =
      try rows(
        """
        SHOW GLOBAL STATUS WHERE variable_name IN
          ('wsrep_ready', 'wsrep_cluster_status', 'wsrep_local_state_comment', 'wsrep_cluster_size')
        """
      ) { row in (row.text(0), row.text(1)) }
      + rows(
        """
        SHOW GLOBAL VARIABLES WHERE variable_name IN ('read_only', 'wsrep_on', 'wsrep_sync_wait')
        """
      ) { row in (row.text(0), row.text(1)) }
    for (name, value) in pairs { values[name.lowercased()] = value }
    let isReadOnly = values["read_only"] != "OFF"
    guard values["wsrep_on"] == "ON" else {
      return ServerState(isReadOnly: isReadOnly, galera: nil)
    }
    return ServerState(
      isReadOnly: isReadOnly,
      galera: GaleraState(
        isPrimary: values["wsrep_ready"] == "ON" && values["wsrep_cluster_status"] == "Primary",
        isSynced: values["wsrep_local_state_comment"] == "Synced",
        size: Int(values["wsrep_cluster_size"] ?? "") ?? 0,
        readsWait: (Int(values["wsrep_sync_wait"] ?? "") ?? 0) & 1 == 1))
  }
}

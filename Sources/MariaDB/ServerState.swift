/// The state of a server, as it reports it.
package struct ServerState: Sendable {
  package let isReadOnly: Bool
  /// nil if the server belongs to no Galera cluster.
  package let galera: GaleraState?

  /// The reason not to send statements to this server now, if there is one.
  package var problem: String? {
    if let galera, !galera.isPrimary { return "is cut off from its cluster" }
    return isReadOnly ? "is read-only" : nil
  }

  /// Whether it accepts writes, but is busy bringing another node up to date.
  var isDonor: Bool { galera?.isSynced == false }
}

/// The state of a Galera node, as it reports it.
package struct GaleraState: Sendable {
  /// Whether the node belongs to the majority.
  package let isPrimary: Bool
  /// Whether the node has applied the writes of the others, and no other node is copying it.
  package let isSynced: Bool
  /// The number of nodes in the cluster.
  package let size: Int
  /// Whether reads and writes wait for what other nodes have committed (`wsrep_sync_wait` with the
  /// bits 1 for reads, 2 for UPDATE and DELETE, and 4 for INSERT). In a transaction only its first
  /// statement waits.
  package let statementsWait: Bool
}

extension Connection {
  /// Asks the server for its state. The statements are SHOW: a Galera node answers SHOW even if it
  /// accepts no other statement, while a SELECT waits for writes of other nodes.
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
        statementsWait: (Int(values["wsrep_sync_wait"] ?? "") ?? 0) & 7 == 7))
  }
}

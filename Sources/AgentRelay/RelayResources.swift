/// The resources that the connections of a relay share.
final class RelayResources {
  let poller = SocketPoller()
  /// Not empty.
  let addresses: [AgentAddress]
  var idleAgents: IdleAgents
  /// Whether no connection takes a further request.
  var isStopping = false

  init(addresses: [AgentAddress], idleLimit: Duration) {
    self.addresses = addresses
    idleAgents = IdleAgents(lifetime: idleLimit)
  }
}

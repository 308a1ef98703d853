/// The resources that the connections of a relay share.
final class RelayResources {
  let poller = SocketPoller()
  /// Not empty.
  let addresses: [AgentAddress]
  let limits: RelayLimits
  var idleAgents: IdleAgents
  /// Whether no connection takes a further request.
  var isStopping = false

  init(addresses: [AgentAddress], limits: RelayLimits) {
    self.addresses = addresses
    self.limits = limits
    idleAgents = IdleAgents(lifetime: limits.idle)
  }
}

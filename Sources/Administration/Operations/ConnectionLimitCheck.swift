package import Delivery

/// The result of the check of the kernel's limit of connections, which only root may see.
///
/// - Parameter state: the word that the script `limit-connections` prints.
/// - Returns: nil for another word.
package func connectionLimitCheck(_ state: String) -> CheckLine? {
  let restart = "systemctl restart switchboard-connections"
  switch state {
  case "on":
    return .ok("the kernel limits the connections of each client network to the web server")
  case "off":
    return .unset(
      "the kernel does not limit connections, so one address can use up those of the web server: "
        + "switchboard setup --limit-connections yes")
  case "outdated":
    return .problem(
      "the kernel limits connections by old rules: SWITCHBOARD_TRUSTED_PROXIES, the site's address or "
        + "the rules have changed since: \(restart)")
  case "lost":
    return .problem(
      "the kernel no longer limits connections, because another program has removed the rules: \(restart)"
    )
  case "failed":
    return .problem(
      "the kernel does not limit connections, because the rules could not be loaded: "
        + "systemctl status switchboard-connections")
  default: return nil
  }
}

/// Delays after the first signal to a server. systemd waits 15 s (`TimeoutStopSec`).
package struct DrainDelays: Sendable {
  /// Then the server closes each connection after its response, and those whose request is still arriving.
  package var closing = Duration.seconds(3)
  /// Then it drops idle connections.
  package var stop = Duration.seconds(6)
  /// Then it drops running requests too.
  package var end = Duration.seconds(9)

  package init() {}
}

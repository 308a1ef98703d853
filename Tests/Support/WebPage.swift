import Foundation

/// A page and its scripts at its own origin `http://localhost:PORT`, which browsers treat as
/// secure.
package final class WebPage: Sendable {
  private let listener = LoopbackListener()!  // a free port
  private let scripts: [String: String]

  /// - Parameter scripts: the sources, by path.
  package init(scripts: [String: String]) {
    self.scripts = scripts
    listener.begin { [self] in serve(Wire($0)) }
  }

  package func end() { listener.end() }

  package var origin: String { "http://localhost:\(listener.port)" }

  private func serve(_ wire: Wire) {
    while let head = wire.head() {
      let path = head.split(separator: " ")[1]
      let script = scripts[String(path)]
      let body = script ?? "<!doctype html><title>Page</title>"
      let type = script == nil ? "text/html" : "text/javascript"
      wire.write(
        "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
      )
    }
  }
}

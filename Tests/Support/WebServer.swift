import Foundation

/// The web server of the tests' sites and its way to reach the responder, from `SWITCHBOARD_WEB`.
/// The manual's page Web servers lists the differences between their answers.
package enum WebServer: String, Sendable {
  case nginx, apache, lighttpd
  case apacheCGI = "apache-cgi"
  case lighttpdChild = "lighttpd-child"
  case lighttpdCGI = "lighttpd-cgi"

  package static let ofTests: WebServer = {
    let name = ProcessInfo.processInfo.environment["SWITCHBOARD_WEB"] ?? "nginx"
    guard let server = WebServer(rawValue: name) else { fatalError("no web server \(name)") }
    return server
  }()

  /// Whether the web server is behind a proxy.
  package static let isBehindProxy =
    ProcessInfo.processInfo.environment["SWITCHBOARD_WEB_PROXY"] != nil

  package var isApache: Bool { self == .apache || self == .apacheCGI }
  package var isLighttpd: Bool { !isApache && self != .nginx }

  /// Whether the responder is a separate program instead of a child of the web server.
  package var hasResponder: Bool { self == .nginx || self == .apache || self == .lighttpd }

  /// The program that decides access to the agent: Apache asks a separate responder.
  package var authorizer: String { isApache ? "authorizer" : "responder" }
}

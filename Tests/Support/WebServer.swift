import Foundation

/// The web server of the sites of these tests, and how it reaches the responder; `SWITCHBOARD_WEB` chooses it. The manual's
/// page Web servers tells where their answers differ.
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

  /// Whether a proxy stands before it.
  package static let isBehindProxy =
    ProcessInfo.processInfo.environment["SWITCHBOARD_WEB_PROXY"] != nil

  package var isApache: Bool { self == .apache || self == .apacheCGI }
  package var isLighttpd: Bool { !isApache && self != .nginx }

  /// Whether the responder is a program of its own, and not a child of the web server.
  package var hasResponder: Bool { self == .nginx || self == .apache || self == .lighttpd }

  /// What says who may reach the agent: Apache asks a responder of its own.
  package var authorizer: String { isApache ? "authorizer" : "responder" }
}

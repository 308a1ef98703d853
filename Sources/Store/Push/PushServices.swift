import Base

/// The push services of browsers that may receive notifications. Requests go to no other host,
/// whatever a subscription says.
package struct PushServices: Sendable {
  /// The services of Chrome and related browsers, Firefox, Safari, and Edge on Windows.
  package static let known = [
    "fcm.googleapis.com", "updates.push.services.mozilla.com", "web.push.apple.com",
    "*.notify.windows.com",
  ]

  private let entries: [String]

  /// - Parameter more: hosts in addition to ``known``, as ``isEntry(_:)`` accepts them.
  package init(more: [String] = []) { entries = Self.known + more }

  /// The entries without `*.`: the names below a host cannot be listed.
  package var hosts: [String] { entries.filter { !$0.hasPrefix("*.") } }

  /// Whether `text` is a host, `*.` and a host (for all names below it), or one of these with `:`
  /// and a port.
  package static func isEntry(_ text: String) -> Bool {
    let host = text.hasPrefix("*.") ? String(text.dropFirst(2)) : text
    guard let url = WebURL("https://\(host)") else { return false }
    return url.rest.isEmpty && host == host.lowercased()
  }

  /// Whether `endpoint` is an https address of one of the hosts with a path, at most 1024 bytes.
  package func allow(_ endpoint: String) -> Bool {
    guard endpoint.utf8.count <= 1024, let url = WebURL(endpoint), url.isHTTPS,
      url.rest.hasPrefix("/"), url.fragment == nil
    else { return false }
    let host = url.effectivePort == 443 ? url.host : "\(url.host):\(url.effectivePort!)"
    return entries.contains { entry in
      entry.hasPrefix("*.") ? host.hasSuffix(entry.dropFirst(1)) : host == entry
    }
  }
}

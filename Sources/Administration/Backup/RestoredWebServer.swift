import Glibc

/// nginx on the restored server. Until a reload, it keeps its former name, certificate and list of
/// addresses that may pair phones.
struct RestoredWebServer: Sendable {
  /// `/`, or the folder of a site that `nginx/run` started. `nginx/run` starts its nginx itself.
  let root: String

  private static let site = "/etc/nginx/sites-enabled/switchboard"
  private static let reload = "systemctl reload-or-restart nginx"

  /// Makes nginx serve the restored site.
  ///
  /// - Returns: the remaining steps, in whole sentences; nil if none remain.
  func reload() -> String? {
    guard root == "/", access(Self.site, F_OK) == 0 else { return nil }
    guard succeeds(["nginx", "-t", "-q"]) else {
      return """
        nginx refuses the site that was restored, and serves what it served before. Where its certificate is missing, \
        run: switchboard setup --yes. Else repair what nginx -t says, then run: \(Self.reload)
        """
    }
    guard succeeds(Self.reload.split(separator: " ").map(String.init)) else {
      return "nginx does not serve the site that was restored yet. Run: \(Self.reload)"
    }
    return nil
  }

  /// A command that cannot be started has not succeeded either.
  private func succeeds(_ command: [String]) -> Bool {
    guard var pipeline = try? Pipeline([command], to: .nothing) else { return false }
    return (try? pipeline.finish()) != nil
  }
}

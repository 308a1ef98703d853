import Base

/// The agent behind this site, as phones that pair learn of it.
package struct GuardedAgent: Sendable {
  /// `http://…` or `https://…` without a final slash.
  package let publicURL: String
  /// The repository that the agent works on.
  package let repo: String
  /// Whether the agent's clients need a token.
  package let requiresAuth: Bool

  package init(publicURL: String, repo: String = "switchboard", requiresAuth: Bool = true) {
    self.publicURL = publicURL
    self.repo = repo
    self.requiresAuth = requiresAuth
  }

  /// Whether `name` can be ``repo``: 1 to 100 characters, without control characters.
  package static func isRepoName(_ name: String) -> Bool {
    !name.isEmpty && name.unicodeScalars.count <= 100 && !name.hasControls
  }

  /// Address of the web socket.
  package var webSocketURL: String { "ws\(publicURL.dropFirst("http".count))/ws" }
}

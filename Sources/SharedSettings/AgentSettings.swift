import Base
package import ProcessSupport
package import Store

extension Environment {
  /// The settings of the agent behind this site, from `SWITCHBOARD_REPO` and `SWITCHBOARD_REQUIRE_AUTH`.
  package mutating func agent(at publicURL: String) -> GuardedAgent {
    let repo = optional("SWITCHBOARD_REPO")?.trimmed ?? "switchboard"
    if !GuardedAgent.isRepoName(repo) {
      complain(
        about: "SWITCHBOARD_REPO",
        "must be a name of 1 to 100 characters without control characters")
    }
    return GuardedAgent(
      publicURL: publicURL, repo: repo,
      requiresAuth: flag("SWITCHBOARD_REQUIRE_AUTH", default: true))
  }
}

import Foundation
import Support
import Testing

/// The kernel's limit of connections, in network namespaces: see `Tests/Connections/run`.
@Suite(.serialized, .enabled(if: !WebServer.isBehindProxy)) struct ConnectionLimitTests {
  private static let script = projectFolder.appending(path: "Tests/Connections/run").path()

  /// Why this machine cannot run these tests; empty if it can.
  private static let obstacle = Site.run([script, "--possible"]).output

  @Test(.enabled(if: obstacle.isEmpty, "network namespaces with nftables: \(obstacle)"))
  func unfinishedHeadsOfOneAddressStopNoOther() {
    let outcome = Site.run([
      Self.script, "--web", WebServer.ofTests.rawValue, "--bin", programFolder.path(),
    ])
    #expect(outcome.status == 0, "\(outcome.output)")
    print(outcome.output)
  }

  @Test(.enabled(if: obstacle.isEmpty, "network namespaces with nftables: \(obstacle)"))
  func theRulesCountTheConnectionsOfEachNetwork() {
    let outcome = Site.run([Self.script, "--rules"])
    #expect(outcome.status == 0, "\(outcome.output)")
  }

  /// - Returns: what setup's `switch_limit` prints, and the commands that it gives to systemd.
  private func switchLimit(_ answer: String, nft: String, unit: String) -> (Int32, String) {
    let setup = projectFolder.appending(path: "Sources/companion/setup").path()
    let outcome = Site.run([
      "bash", "-euc",
      """
      share=$(mktemp -d)
      trap 'rm -r "$share"' EXIT
      printf '#!/bin/sh\\necho "nft $1"; \(nft)\\n' >"$share/limit-connections"
      chmod 700 "$share/limit-connections"
      limit_connections=\(answer) limit_unit=unit
      say() { echo "$@"; }
      nft() { :; }
      on_systemd() { :; }
      systemctl() { echo "systemctl $*"; case $* in *restart*) \(unit) ;; esac; }
      is_limited() { false; }
      eval "$(sed -n '/^switch_limit() {/,/^}/p' \(setup))"
      switch_limit
      """,
    ])
    return (outcome.status, outcome.output)
  }

  @Test func setupSwitchesTheLimitOnIfTheKernelTakesTheRules() {
    let (status, output) = switchLimit("yes", nft: "true", unit: "true")
    #expect(status == 0)
    #expect(output == "nft try\nsystemctl restart unit\nsystemctl --quiet enable unit\n")
  }

  /// The site also works without the limit.
  @Test(arguments: [("false", "true"), ("true", "false")])
  func aKernelWithoutNftablesDoesNotStopSetup(_ nft: String, _ unit: String) {
    let (status, output) = switchLimit("yes", nft: nft, unit: unit)
    #expect(status == 0)
    #expect(output.contains("The connections are not limited, because nft refuses the rules"))
    #expect(!output.contains("enable"))
  }
}

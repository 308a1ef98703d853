package import Cryptography

/// The rule whether apps must prove that they are genuine, and the accepted proofs.
package struct AttestationPolicy: Sendable {
  package enum Mode: String, CaseIterable, Sendable {
    /// Proofs are ignored.
    case off
    /// Proofs are verified and the outcome is recorded; every write passes.
    case observe
    /// A write without proof is refused.
    case enforce
  }

  package let mode: Mode
  /// Whether simulators and Macs, which cannot prove anything, may write in ``Mode/enforce``.
  package let acceptsStubs: Bool
  /// nil if no team is configured: then no proof can be verified.
  package let apps: AttestedApps?

  package init(mode: Mode = .observe, acceptsStubs: Bool = false, apps: AttestedApps? = nil) {
    self.mode = mode
    self.acceptsStubs = acceptsStubs
    self.apps = apps
  }
}

/// The apps whose keys are enrolled and accepted.
package struct AttestedApps: Sendable {
  private let teamID: String
  private let bundleIDs: Set<String>
  private let environments: Set<AppAttest.Environment>
  private let root: Certificate

  /// - Parameters:
  ///   - bundleIDs: none means every app of the team.
  ///   - root: the certificate that attestations must lead to.
  package init(
    teamID: String, bundleIDs: Set<String> = [], environments: Set<AppAttest.Environment>,
    root: Certificate = .appleAppAttestationRoot
  ) {
    self.teamID = teamID
    self.bundleIDs = bundleIDs
    self.environments = environments
    self.root = root
  }

  /// `TeamID.BundleID` of each app that is named.
  package var appIDs: [String] { bundleIDs.sorted().map { "\(teamID).\($0)" } }

  /// The verifier of the app's attestations; nil if the app is not one of these.
  func verifier(for bundleID: String) -> AppAttest? {
    guard bundleIDs.isEmpty || bundleIDs.contains(bundleID) else { return nil }
    return AppAttest(appIDs: ["\(teamID).\(bundleID)"], environments: environments, root: root)
  }

  /// The verifier of an enrolled key's assertions; nil if the key would not be enrolled today.
  func verifier(ofKeyOf appID: String, in environment: AppAttest.Environment) -> AppAttest? {
    guard appID.hasPrefix("\(teamID)."), environments.contains(environment) else { return nil }
    return verifier(for: String(appID.dropFirst(teamID.count + 1)))
  }
}

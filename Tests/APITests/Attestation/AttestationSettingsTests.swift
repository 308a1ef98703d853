import Cryptography
import Foundation
import ProcessSupport
import SharedSettings
import Support
import Testing

@testable import API
@testable import Store
@testable import switchboard_responder

/// The variables of attestation.
@Suite struct AttestationSettingsTests {
  private func read(
    _ variables: [String: String]
  ) -> (policy: AttestationPolicy?, complaints: [String]) {
    var environment = ProcessSupport.Environment(requiredVariables.merging(variables) { $1 })
    let settings = API.Settings(from: &environment)
    return (settings?.attestation, environment.complaints)
  }

  private let team = ["SWITCHBOARD_APPLE_TEAM_ID": ourTeam]

  @Test func theDefaultIsToObserveWithoutATeam() throws {
    let (policy, complaints) = read([:])
    #expect(complaints == [])
    #expect(policy?.mode == .observe)
    #expect(policy?.acceptsStubs == false)
    #expect(policy?.apps == nil)
  }

  @Test(arguments: ["off", "observe", "enforce"])
  func theModeIsRead(word: String) {
    let (policy, complaints) = read(team.merging(["SWITCHBOARD_ATTESTATION": word]) { $1 })
    #expect(complaints == [])
    #expect(policy?.mode.rawValue == word)
  }

  @Test(arguments: [
    (
      ["SWITCHBOARD_ATTESTATION": "on"],
      "SWITCHBOARD_ATTESTATION must be one of off, observe, enforce."
    ),
    (
      ["SWITCHBOARD_ATTESTATION": "enforce"],
      "SWITCHBOARD_APPLE_TEAM_ID is missing: SWITCHBOARD_ATTESTATION is enforce."
    ),
    (
      ["SWITCHBOARD_APPLE_TEAM_ID": "TEAM.x"],
      "SWITCHBOARD_APPLE_TEAM_ID must be Apple's id of the team, letters and digits."
    ),
    (
      ["SWITCHBOARD_APPLE_BUNDLE_IDS": " , "],
      "SWITCHBOARD_APPLE_BUNDLE_IDS must be a list of bundle ids, separated by commas."
    ),
    (
      ["SWITCHBOARD_APPLE_BUNDLE_IDS": "app one"],
      "SWITCHBOARD_APPLE_BUNDLE_IDS must be a list of bundle ids, separated by commas."
    ),
    (
      ["SWITCHBOARD_ATTESTATION_ROOT": "/dev/null"],
      "SWITCHBOARD_ATTESTATION_ROOT is for SWITCHBOARD_ENV=development only."
    ),
    (
      ["SWITCHBOARD_ATTESTATION_ROOT": "/dev/null", "SWITCHBOARD_ENV": "preview"],
      "SWITCHBOARD_ATTESTATION_ROOT is for SWITCHBOARD_ENV=development only."
    ),
    (
      ["SWITCHBOARD_ATTESTATION_ROOT": "/dev/null", "SWITCHBOARD_ENV": "development"],
      "SWITCHBOARD_ATTESTATION_ROOT must name a file with a certificate in PEM."
    ),
    (
      ["SWITCHBOARD_ATTESTATION_ROOT": "/no/such/file", "SWITCHBOARD_ENV": "development"],
      "SWITCHBOARD_ATTESTATION_ROOT: /no/such/file cannot be read as text."
    ),
  ])
  func eachWrongVariableIsNamed(variables: [String: String], complaint: String) {
    #expect(read(variables).complaints == [complaint])
  }

  @Test(arguments: [("production", false), ("preview", true), ("development", true)])
  func onlyProductionRefusesKeysOfDevelopment(environment: String, acceptsDevelopment: Bool) throws
  {
    let policy = try #require(read(team.merging(["SWITCHBOARD_ENV": environment]) { $1 }).policy)
    let apps = try #require(policy.apps)
    #expect(apps.verifier(ofKeyOf: ourApp, in: .production) != nil)
    #expect((apps.verifier(ofKeyOf: ourApp, in: .development) != nil) == acceptsDevelopment)
    #expect(policy.acceptsStubs == (environment == "development"))
  }

  @Test(arguments: [
    (nil, [ourApp, "\(ourTeam).x", "\(ourTeam).app.b"]), (ourBundle, [ourApp]),
    (" \(ourBundle) , app.b", [ourApp, "\(ourTeam).app.b"]),
  ])
  func theListOfBundleIDsLimitsTheAppsOfTheTeam(list: String?, accepted: [String]) throws {
    let variables = list.map { ["SWITCHBOARD_APPLE_BUNDLE_IDS": $0] } ?? [:]
    let apps = try #require(read(team.merging(variables) { $1 }).policy?.apps)
    let all = [ourApp, "\(ourTeam).x", "\(ourTeam).app.b", "TEAM999999.\(ourBundle)", ourBundle]
    #expect(all.filter { apps.verifier(ofKeyOf: $0, in: .production) != nil } == accepted)
  }

  @Test func developmentMayReplaceApplesRoot() throws {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FakeApple.shared.rootCertificate.write(to: file, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(at: file) }
    let (policy, complaints) = read(
      team.merging([
        "SWITCHBOARD_ENV": "development", "SWITCHBOARD_ATTESTATION_ROOT": file.path(),
      ]) { $1 })
    #expect(complaints == [])
    try withApplication(attestation: #require(policy)) { site in
      _ = try site.enrolledPhone()
    }
  }
}

import ProcessSupport
import SharedSettings
import Testing

@testable import API
@testable import switchboard_responder

/// The variables of turns.
@Suite struct TurnsSettingsTests {
  private static let short = String(repeating: "k", count: 31)

  private func complaints(_ variables: [String: String]) -> [String] {
    var environment = ProcessSupport.Environment(requiredVariables.merging(variables) { $1 })
    _ = API.Settings(from: &environment)
    return environment.complaints
  }

  @Test(arguments: ["k", short, "éééééééééééééé"])
  func aMasterKeyThatCouldBeGuessedIsRefusedInProduction(key: String) {
    for environment in [[:], ["SWITCHBOARD_ENV": "production"]] {
      #expect(
        complaints(environment.merging(["MASTER_API_KEY": key]) { $1 }) == [
          "MASTER_API_KEY must have at least 32 bytes: openssl rand -base64 32."
        ])
    }
  }

  @Test(arguments: ["", short + "k", "éééééééééééééééé"])
  func noMasterKeyOrALongOneIsAccepted(key: String) {
    #expect(complaints(["MASTER_API_KEY": key]) == [])
  }

  @Test(arguments: ["development", "preview"])
  func elsewhereAnyMasterKeyIsAccepted(environment: String) {
    #expect(complaints(["MASTER_API_KEY": "k", "SWITCHBOARD_ENV": environment]) == [])
  }
}

import Program
import Testing

@testable import API
@testable import switchboard_responder

/// The variables of push.
@Suite struct PushSettingsTests {
  @Test(arguments: [
    ("", []), ("tauri://localhost", ["tauri://localhost"]),
    (
      " tauri://localhost , https://a.example:8443 ",
      ["tauri://localhost", "https://a.example:8443"]
    ),
  ])
  func theAllowedOriginsAreAList(value: String, origins: [String]) {
    var environment = Program.Environment(
      requiredVariables.merging(["SWITCHBOARD_ALLOWED_ORIGINS": value]) { $1 })
    let settings = API.Settings(from: &environment)
    #expect(environment.complaints == [])
    #expect(settings?.allowedOrigins == origins)
    #expect(settings?.pushLookupConcurrency == 8)
  }

  @Test(arguments: [
    "*", "null", "localhost", "https://a.example/", "https://a.example,*", "a://b c",
  ])
  func aMalformedOriginIsNamed(value: String) {
    var environment = Program.Environment(
      requiredVariables.merging(["SWITCHBOARD_ALLOWED_ORIGINS": value]) { $1 })
    _ = API.Settings(from: &environment)
    #expect(
      environment.complaints == [
        "SWITCHBOARD_ALLOWED_ORIGINS must be a list of origins, scheme://host[:port], separated by commas."
      ])
  }

  @Test(arguments: [("1", 1), ("20", 20), ("0", nil), ("21", nil), ("x", nil)])
  func theLookupConcurrencyIs1To20(value: String, number: Int?) {
    var environment = Program.Environment(
      requiredVariables.merging(["PUSH_METADATA_LOOKUP_CONCURRENCY": value]) { $1 })
    let settings = API.Settings(from: &environment)
    #expect(environment.complaints.isEmpty == (number != nil))
    if let number { #expect(settings?.pushLookupConcurrency == number) }
  }
}

import ProcessSupport
import SharedSettings
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
    var environment = ProcessSupport.Environment(
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
    var environment = ProcessSupport.Environment(
      requiredVariables.merging(["SWITCHBOARD_ALLOWED_ORIGINS": value]) { $1 })
    _ = API.Settings(from: &environment)
    #expect(
      environment.complaints == [
        "SWITCHBOARD_ALLOWED_ORIGINS must be a list of origins, scheme://host[:port], separated by commas."
      ])
  }

  private func webPush(_ changes: [String: String]) -> (API.Settings?, [String]) {
    var environment = ProcessSupport.Environment(requiredVariables.merging(changes) { $1 })
    let settings = API.Settings(from: &environment)
    return (settings, environment.complaints)
  }

  /// A P-256 point in base64url, as `keys vapid` prints it.
  private static let publicKey =
    "BBo4DvRm1rG59SVVGYB0VE9MGckP9sGbk0Ugffzur7c4tS0whwNUArvbqJnNGseWVYDISinw8F4ph_tJF2Q8sFQ"

  @Test func browsersSubscribeWithTheKeyAtTheServicesNamed() throws {
    #expect(webPush(["WEBPUSH_VAPID_PUBLIC_KEY": ""]).0?.webPush == nil)
    #expect(webPush(["WEBPUSH_VAPID_PUBLIC_KEY": ""]).1 == [])
    let (settings, complaints) = webPush([
      "WEBPUSH_VAPID_PUBLIC_KEY": Self.publicKey, "WEBPUSH_HOSTS": "push.example.org:8443",
    ])
    #expect(complaints == [])
    let webPush = try #require(settings?.webPush)
    #expect(webPush.publicKey == Self.publicKey)
    #expect(webPush.services.allow("https://push.example.org:8443/x"))
    #expect(!webPush.services.allow("https://push.example.org/x"))
  }

  @Test(arguments: [
    (
      "WEBPUSH_VAPID_PUBLIC_KEY", "secret", "the output of `switchboard-companion keys vapid`"
    ),
    (
      "WEBPUSH_VAPID_PUBLIC_KEY", String(publicKey.dropLast(4)),
      "the output of `switchboard-companion keys vapid`"
    ),
    (
      "WEBPUSH_HOSTS", "https://push.example.org",
      "hosts, host, host:port or *.host, in small letters, separated by commas"
    ),
  ])
  func aMalformedVariableOfWebPushIsNamed(name: String, value: String, rule: String) {
    #expect(webPush([name: value]).1 == ["\(name) must be \(rule)."])
  }

  @Test(arguments: [("1", 1), ("20", 20), ("0", nil), ("21", nil), ("x", nil)])
  func theLookupConcurrencyIs1To20(value: String, number: Int?) {
    var environment = ProcessSupport.Environment(
      requiredVariables.merging(["PUSH_METADATA_LOOKUP_CONCURRENCY": value]) { $1 })
    let settings = API.Settings(from: &environment)
    #expect(environment.complaints.isEmpty == (number != nil))
    if let number { #expect(settings?.pushLookupConcurrency == number) }
  }
}

import Base
import Cryptography
import Foundation
import ProcessSupport
import SharedSettings
import Support
import Testing

@testable import API
@testable import switchboard_responder

/// Passkeys in the configuration.
@Suite struct PasskeySettingsTests {
  @Test(arguments: [
    ("", []), ("https://app.example.org", ["https://app.example.org"]),
    (
      " https://app.example.org:8443 , android:apk-key-hash:\(base64URLEncoded(sha256("x")))",
      ["https://app.example.org:8443", "android:apk-key-hash:\(base64URLEncoded(sha256("x")))"]
    ),
  ])
  func otherOriginsMayBeConfigured(value: String, origins: [String]) {
    var environment = Environment(
      requiredVariables.merging(["SWITCHBOARD_PASSKEY_ORIGINS": value]) { $1 })
    let settings = API.Settings(from: &environment)
    #expect(environment.complaints == [])
    #expect(settings?.relyingParty.id == "api.example.org")
    #expect(settings?.relyingParty.origins == ["https://api.example.org"] + origins)
    #expect(settings?.relyingParty.topOrigins == [])
    #expect(settings?.relyingParty.requiresUserVerification == true)
  }

  @Test(arguments: [
    "*", "null", "app.example.org", "https://app.example.org/", "https://App.example.org",
    "https://app.example.org:443", "https://app.example.org,*", "android:apk-key-hash:x",
    "android:apk-key-hash:", "android:",
  ])
  func malformedOriginsAreComplaints(value: String) {
    var environment = Environment(
      requiredVariables.merging(["SWITCHBOARD_PASSKEY_ORIGINS": value]) { $1 })
    _ = API.Settings(from: &environment)
    #expect(environment.complaints.count == 1)
    #expect(environment.complaints.first?.hasPrefix("SWITCHBOARD_PASSKEY_ORIGINS must") == true)
  }

  @Test(
    arguments: [
      ("https://api.example.org:8443/x", "api.example.org", "https://api.example.org:8443"),
      ("http://127.0.0.1:8080", "127.0.0.1", "http://127.0.0.1:8080"),
      ("https://API.example.org", "api.example.org", "https://api.example.org"),
      ("https://x@y", nil, nil), ("https://:80", nil, nil),
    ] as [(String, String?, String?)])
  func theRelyingPartyIsTheHostOfThePublicURL(url: String, id: String?, origin: String?) {
    var environment = Environment(
      requiredVariables.merging(["SWITCHBOARD_PUBLIC_URL": url]) { $1 })
    let settings = API.Settings(from: &environment)
    #expect(settings?.relyingParty.id == id)
    #expect(settings?.relyingParty.origins == origin.map { [$0] })
    #expect(
      environment.complaints == (id == nil ? ["SWITCHBOARD_PUBLIC_URL must name a host."] : []))
  }
}

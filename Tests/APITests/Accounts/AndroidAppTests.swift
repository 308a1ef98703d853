import Cryptography
import ProcessSupport
import SharedSettings
import Support
import Testing

@testable import API
@testable import switchboard_responder

/// `GET /.well-known/assetlinks.json`, and the setting behind it.
@Suite struct AndroidAppTests {
  private static let one = Array(repeating: "AB", count: 32).joined(separator: ":")
  private static let two = Array(repeating: "0c", count: 32).joined(separator: ":")

  private func read(_ text: String) -> (API.Settings?, [String]) {
    var environment = Environment(
      requiredVariables.merging(["SWITCHBOARD_ANDROID_APPS": text]) { $1 })
    return (API.Settings(from: &environment), environment.complaints)
  }

  @Test func theFileListsTheAppsOfTheConfiguration() throws {
    let (settings, complaints) = read(
      "app.one=\(Self.one), app.two=\(Self.two),app.one=\(Self.two),app.one=\(Self.one)")
    #expect(complaints == [])
    let apps = try #require(settings?.androidApps)
    try withDatabase { root in
      let site = TestApplication(root, settings: .ofTests(androidApps: apps))
      let answer = site.send("GET", "/.well-known/assetlinks.json")
      #expect(answer.status == 200)
      #expect(answer.field("Content-Type") == "application/json")
      let relation =
        #""relation":["delegate_permission/common.handle_all_urls","delegate_permission/common.get_login_creds"]"#
      func link(_ name: String, _ fingerprints: String) -> String {
        #"{\#(relation),"target":{"namespace":"android_app","package_name":"\#(name)","#
          + #""sha256_cert_fingerprints":[\#(fingerprints)]}}"#
      }
      let two = Self.two.uppercased()
      #expect(
        answer.text
          == "[" + link("app.one", #""\#(Self.one)","\#(two)""#) + ","
          + link("app.two", #""\#(two)""#) + "]")
    }
  }

  @Test func theAppsMayUsePasskeys() {
    let origins = read("app.one=\(Self.one)").0?.relyingParty.origins
    let hash = base64URLEncoded([UInt8](repeating: 0xAB, count: 32))
    #expect(origins == ["https://api.example.org", "android:apk-key-hash:\(hash)"])
  }

  @Test func withoutAnAppThereIsNoFile() throws {
    try withApplication { site in
      #expect(site.send("GET", "/.well-known/assetlinks.json").isError(404, "not_found"))
    }
  }

  @Test(arguments: [
    "app.one", "app.one=", "=\(one)", "app.one=\(one.dropLast(3))", "app=\(one)",
    "app.1=\(one)", "app..one=\(one)", "app.one=\(one.replacing(":", with: ""))",
    "app.one=\(one)=", "app.one=\(one),x", "app.one=\(one.replacing("AB", with: "XY"))",
  ])
  func malformedAppsAreComplaints(text: String) {
    let complaints = read(text).1
    #expect(complaints.count == 1)
    #expect(complaints.first?.hasPrefix("SWITCHBOARD_ANDROID_APPS must be") == true)
  }
}

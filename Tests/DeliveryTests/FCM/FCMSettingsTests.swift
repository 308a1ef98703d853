import Delivery
import Foundation
import ProcessSupport
import SharedSettings
import Support
import Testing

@testable import switchboard_companion

@Suite struct FCMSettingsTests {
  private func parse(_ variables: [String: String]) -> (FCMSettings?, [String]) {
    var environment = Environment(variables)
    let substitutes = Substitutes(from: &environment)
    let settings = FCMSettings(from: &environment, substitutes: substitutes)
    return (settings, environment.complaints)
  }

  /// - Parameter text: the file's content; nil for no file.
  private func parse(file text: String?) throws -> (FCMSettings?, [String]) {
    let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    try text?.write(toFile: path, atomically: true, encoding: .utf8)
    let (settings, complaints) = parse(["FCM_SERVICE_ACCOUNT_FILE": path])
    return (settings, complaints.map { $0.replacing(path, with: "FILE") })
  }

  @Test func theFileOfGoogleIsEnough() throws {
    let (parsed, complaints) = try parse(file: FakeFCM().serviceAccount)
    let settings = try #require(parsed)
    #expect(complaints.isEmpty)
    #expect(settings.project == FakeFCM.project)
    #expect(settings.account == FakeFCM.account)
    #expect(settings.endpoint == "https://fcm.googleapis.com")
  }

  /// systemd passes an absent file of secrets in this way.
  @Test(arguments: ["", "\n"])
  func withoutAnAccountNothingIsSentToAndroid(text: String) throws {
    #expect(parse([:]).0 == nil)
    #expect(parse([:]).1 == [])
    let (settings, complaints) = try parse(file: text)
    #expect(settings == nil)
    #expect(complaints == [])
  }

  @Test func anotherFileIsAComplaintWithoutWhatStandsInIt() throws {
    let right = FakeFCM().serviceAccount
    for text in [
      "{}", "secret", right.replacing("service_account", with: "authorized_user"),
      right.replacing("BEGIN PRIVATE", with: "BEGIN PUBLIC"),
      right.replacing(FakeFCM.project, with: "a/b"),
      right.replacing("http:", with: "file:"),
    ] {
      let (settings, complaints) = try parse(file: text)
      #expect(settings == nil)
      #expect(
        complaints == [
          "FCM_SERVICE_ACCOUNT must be the JSON file of a service account, as the Firebase console gives it."
        ])
    }
    #expect(
      try parse(file: nil).1 == ["FCM_SERVICE_ACCOUNT_FILE: FILE cannot be read as text."])
  }

  @Test func aSubstituteReplacesGoogle() {
    let account = FakeFCM().serviceAccount
    #expect(parse(["FCM_SERVICE_ACCOUNT": account]).0?.endpoint == "https://fcm.googleapis.com")
    let (settings, complaints) = parse([
      "FCM_SERVICE_ACCOUNT": account, "SWITCHBOARD_SUBSTITUTES": "fcm=https://fcm.example.org",
    ])
    #expect(complaints == [] && settings?.endpoint == "https://fcm.example.org")
  }
}

import Delivery
import Foundation
import Program
import Support
import Testing

@testable import switchboard_companion

@Suite struct FCMSettingsTests {
  private func parse(_ text: String?) throws -> (FCMSettings?, [String]) {
    let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
    defer { try? FileManager.default.removeItem(atPath: path) }
    try text?.write(toFile: path, atomically: true, encoding: .utf8)
    var environment = Environment(["FCM_SERVICE_ACCOUNT_FILE": path])
    let settings = FCMSettings(from: &environment)
    return (settings, environment.complaints)
  }

  @Test func theFileOfGoogleIsEnough() throws {
    let (parsed, complaints) = try parse(FakeFCM().serviceAccount)
    let settings = try #require(parsed)
    #expect(complaints.isEmpty)
    #expect(settings.project == FakeFCM.project)
    #expect(settings.account == FakeFCM.account)
    #expect(settings.endpoint == "https://fcm.googleapis.com")
  }

  @Test func withoutAFileNothingIsSentToAndroid() {
    var environment = Environment([:])
    #expect(FCMSettings(from: &environment) == nil)
    #expect(environment.complaints.isEmpty)
  }

  @Test func anotherFileIsAComplaintWithoutWhatStandsInIt() throws {
    let right = FakeFCM().serviceAccount
    for text in [
      nil, "", "{}", "secret", right.replacing("service_account", with: "authorized_user"),
      right.replacing("BEGIN PRIVATE", with: "BEGIN PUBLIC"),
      right.replacing(FakeFCM.project, with: "a/b"),
    ] as [String?] {
      let (settings, complaints) = try parse(text)
      #expect(settings == nil)
      #expect(
        complaints == [
          "FCM_SERVICE_ACCOUNT_FILE must be the JSON file of a service account, as the Firebase console gives it."
        ])
    }
  }
}

import Base
import Program
import Support
import Testing

@testable import Store

@Suite struct PairingInfoTests {
  private let agent = GuardedAgent(publicURL: "http://127.0.0.1:8766", repo: "cdev")

  private func content(_ token: PairingInfo.SignedToken?) -> String {
    let info = PairingInfo(
      agent: agent, session: "6f57d617-8d94-4810-b135-cddff5bc1007", token: token)
    return String(decoding: info.qrContent, as: UTF8.self)
  }

  @Test func theCodeHoldsTheBytesOfTheContract() throws {
    let sample = try fixture("pairing/qr_content_auth_on.txt")
    let token = try #require(sample.firstMatch(of: /"token":"([^"]+)"/)).1
    let now = Timestamp(seconds: 0)
    #expect(content(.init(text: String(token), expiresAt: now)) == sample.trimmed)
    #expect(
      content(nil)
        == #"{"http":"http://127.0.0.1:8766","repo":"cdev","session":"6f57d617-8d94-4810-b135-cddff5bc1007","ws":"ws://127.0.0.1:8766/ws"}"#
    )
  }

  @Test(arguments: [
    ("SWITCHBOARD_REPO", ""), ("SWITCHBOARD_REPO", "cdev"), ("SWITCHBOARD_REQUIRE_AUTH", "false"),
    ("SWITCHBOARD_REQUIRE_AUTH", "TRUE"), ("SWITCHBOARD_REQUIRE_AUTH", "0"),
  ])
  func aSettingIsTaken(_ name: String, _ value: String) {
    var environment = Environment([name: value])
    let agent = GuardedAgent(at: "http://x", from: &environment)
    #expect(environment.complaints == [])
    #expect(agent.repo == (value == "cdev" ? "cdev" : "switchboard"))
    #expect(agent.requiresAuth == !["false", "0"].contains(value))
  }

  @Test(arguments: [
    ("SWITCHBOARD_REPO", " "), ("SWITCHBOARD_REPO", "a\nb"),
    ("SWITCHBOARD_REPO", String(repeating: "x", count: 101)),
    ("SWITCHBOARD_REQUIRE_AUTH", "no"), ("SWITCHBOARD_REQUIRE_AUTH", "maybe"),
  ])
  func aMalformedSettingIsNamed(_ name: String, _ value: String) {
    var environment = Environment([name: value])
    _ = GuardedAgent(at: "http://x", from: &environment)
    #expect(environment.complaints.count == 1)
    #expect(environment.complaints.first?.hasPrefix(name) == true)
  }
}

import ProcessSupport
import SharedSettings
import Store
import Testing

@Suite struct AgentSettingsTests {
  @Test(arguments: [
    ("SWITCHBOARD_REPO", ""), ("SWITCHBOARD_REPO", "cdev"), ("SWITCHBOARD_REQUIRE_AUTH", "false"),
    ("SWITCHBOARD_REQUIRE_AUTH", "TRUE"), ("SWITCHBOARD_REQUIRE_AUTH", "0"),
  ])
  func aSettingIsTaken(_ name: String, _ value: String) {
    var environment = Environment([name: value])
    let agent = environment.agent(at: "http://x")
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
    _ = environment.agent(at: "http://x")
    #expect(environment.complaints.count == 1)
    #expect(environment.complaints.first?.hasPrefix(name) == true)
  }
}

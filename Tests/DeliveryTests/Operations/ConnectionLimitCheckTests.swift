import Administration
import Testing

/// The line of `switchboard check` about the kernel's limit of connections.
@Suite struct ConnectionLimitCheckTests {
  @Test(arguments: [
    ("on", "ok"), ("off", "unset"), ("outdated", "problem"), ("lost", "problem"),
    ("failed", "problem"),
  ])
  func checkTellsWhetherConnectionsAreLimited(_ state: String, _ result: String) {
    #expect(connectionLimitCheck(state)?.result == result)
  }

  @Test func withoutAKnownStateThereIsNoLine() {
    #expect(connectionLimitCheck("") == nil)
  }
}

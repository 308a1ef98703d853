import MariaDB
import ProcessSupport
import SharedSettings
import Testing

@Suite struct DatabaseSettingsTests {
  private func settings(_ variables: [String: String]) -> (ConnectionSettings, [String]) {
    var environment = Environment(
      variables.merging(["SWITCHBOARD_DB_USER": "u"]) { given, _ in given })
    let settings = environment.connectionSettings()
    return (settings, environment.complaints)
  }

  @Test func withoutAHostTheSocketIsUsed() {
    let (settings, complaints) = settings([:])
    #expect(settings.socket == "/run/mysqld/mysqld.sock" && settings.hosts == [])
    #expect(complaints == [])
  }

  @Test(
    arguments: [
      ("db.example.org", ["db.example.org:3306"]), ("a,b:3310", ["a:3306", "b:3310"]),
      (" a , 192.0.2.1:1 ", ["a:3306", "192.0.2.1:1"]),
      ("[2001:db8::1]:3308,[::1]", ["[2001:db8::1]:3308", "[::1]:3306"]),
      ("2001:db8::1", ["[2001:db8::1]:3306"]),
    ])
  func hostsAreTakenInTheirOrder(text: String, hosts: [String]) {
    let (settings, complaints) = settings([
      "SWITCHBOARD_DB_HOST": text, "SWITCHBOARD_DB_SOCKET": "/nowhere",
    ])
    #expect(complaints == [])
    #expect(settings.socket == nil && settings.hosts.map(\.description) == hosts)
  }

  @Test(arguments: ["a,", ",", "a b", "a:0", "a:65536", "a:b", "a:1:2", "a,a", "[::1", "a;b:c"])
  func malformedHostsAreNamed(text: String) {
    let (_, complaints) = settings(["SWITCHBOARD_DB_HOST": text])
    #expect(complaints.count == 1)
    #expect(complaints.first?.hasPrefix("SWITCHBOARD_DB_HOST") == true)
  }
}

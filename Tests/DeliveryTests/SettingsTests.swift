import Cryptography
import Program
import Testing

@testable import Delivery

@Suite struct SettingsTests {
  private static let keys = "k1:" + base64URLEncoded([UInt8](repeating: 7, count: 32))

  private func read(_ variables: [String: String]) -> (Settings?, [String]) {
    var environment = Environment(
      ["SWITCHBOARD_CREDENTIAL_KEYS": Self.keys].merging(variables) { $1 })
    let settings = Settings(from: &environment)
    return (settings, environment.complaints)
  }

  @Test func withoutMoreThanTheKeysMailsWait() throws {
    let (settings, complaints) = read([:])
    let read = try #require(settings)
    #expect(complaints == [])
    #expect(read.mailer == nil)
    #expect(read.missing == ["SWITCHBOARD_MAIL_COMMAND"])
    #expect(read.auditLifetime == .seconds(365 * 86_400))
    #expect(read.interval == .seconds(30))
  }

  @Test func mailsAreSentByTheCommandOrElseIntoTheDirectory() {
    let both = ["SWITCHBOARD_MAIL_COMMAND": "a -t", "SWITCHBOARD_MAIL_DIRECTORY": "/d"]
    #expect(read(both).0?.mailer == .command("a -t"))
    #expect(read(["SWITCHBOARD_MAIL_DIRECTORY": "/d"]).0?.mailer == .directory("/d"))
    #expect(read(["SWITCHBOARD_MAIL_DIRECTORY": "/d"]).0?.missing == [])
  }

  @Test(arguments: ["nobody", "a b@c", "a@b\nBcc: x", "<a@b>", "a@b>", "a@b\u{0}", "a@b\u{7f}"])
  func aSenderThatIsNoAddressIsAComplaint(sender: String) {
    #expect(
      read(["SWITCHBOARD_MAIL_FROM": sender]).1
        == ["SWITCHBOARD_MAIL_FROM must be an e-mail address."])
  }

  @Test(arguments: [
    ("SWITCHBOARD_AUDIT_DAYS", "0"), ("SWITCHBOARD_AUDIT_DAYS", "36501"),
    ("SWITCHBOARD_AUDIT_DAYS", "x"), ("CHECK_INTERVAL_SECONDS", "0"),
    ("CHECK_INTERVAL_SECONDS", "1.5"),
  ])
  func aNumberThatIsNoneOrTooLargeIsAComplaint(name: String, value: String) {
    let complaints = read([name: value]).1
    #expect(complaints.count == 1)
    #expect(complaints.first?.hasPrefix("\(name) must be a whole number from 1 to ") == true)
  }

  @Test func withoutKeysThereAreNoSettings() {
    let (settings, complaints) = read(["SWITCHBOARD_CREDENTIAL_KEYS": ""])
    #expect(settings == nil)
    #expect(complaints.count == 1)
    #expect(complaints.first?.contains("SWITCHBOARD_CREDENTIAL_KEYS") == true)
  }
}

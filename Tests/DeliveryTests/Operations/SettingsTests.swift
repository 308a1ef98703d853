import Base
import Cryptography
import ProcessSupport
import SharedSettings
import Testing

@testable import Delivery
@testable import switchboard_companion

@Suite struct SettingsTests {
  private static let keys = "k1:" + base64URLEncoded([UInt8](repeating: 7, count: 32))

  private func read(_ variables: [String: String]) -> (Settings?, [String]) {
    var environment = Environment(
      [
        "SWITCHBOARD_COMPANION_KEYS": Self.keys, "SWITCHBOARD_ADMINISTRATOR": "admin@example.org",
      ].merging(variables) { $1 })
    let settings = Settings(from: &environment)
    return (settings, environment.complaints)
  }

  @Test func withoutMoreThanTheKeysMailsWait() throws {
    let (settings, complaints) = read([:])
    let read = try #require(settings)
    #expect(complaints == [])
    #expect(read.mailer == nil)
    #expect(read.missing == ["SWITCHBOARD_MAIL_COMMAND"] + Self.apns)
    #expect(read.auditLifetime == .seconds(365 * 86_400))
    #expect(read.interval == .seconds(30))
  }

  @Test func mailsAreSentByTheCommandOrElseIntoTheDirectory() {
    let both = ["SWITCHBOARD_MAIL_COMMAND": "a -t", "SWITCHBOARD_MAIL_DIRECTORY": "/d"]
    #expect(read(both).0?.mailer == .command("a -t"))
    #expect(read(["SWITCHBOARD_MAIL_DIRECTORY": "/d"]).0?.mailer == .directory("/d"))
    #expect(read(["SWITCHBOARD_MAIL_DIRECTORY": "/d"]).0?.missing == Self.apns)
  }

  @Test func privateAddressesAreReachedWhereTheyAreNamed() throws {
    let name = "SWITCHBOARD_OUTBOUND_ALLOW"
    let rule = try #require(read([name: "10.1.2.0/24, fd12::/16,127.0.0.1"]).0?.outbound)
    for address in ["10.1.2.3", "fd12:3::4", "127.0.0.1", "192.0.0.1", "8.8.8.8"] {
      #expect(rule.admits(address) == (address != "192.0.0.1"), "\(address)")
    }
    #expect(try #require(read([:]).0).outbound == OutboundRule())
    for wrong in ["10.1.2.0/33", "localhost", "10.1.2.3;10.1.2.4", "bank.example", "10.1.2.3,x"] {
      #expect(
        read([name: wrong]).1 == [
          "\(name) must be a list of addresses and networks, such as 10.1.2.0/24, separated by commas."
        ], "\(wrong)")
    }
  }

  private static let apns = [
    "APNS_KEY_ID", "APNS_TEAM_ID", "APNS_BUNDLE_ID", "APNS_PRIVATE_KEY",
  ]

  @Test func eachVariableThatPushesNeedIsMissedByName() {
    let all = Dictionary(
      uniqueKeysWithValues: Self.apns.map { ($0, $0 == "APNS_PRIVATE_KEY" ? testPrivateKey : "x") })
    #expect(read(all).0?.missingForPushes == [])
    for name in Self.apns {
      #expect(read(all.merging([name: ""]) { $1 }).0?.missingForPushes == [name])
    }
  }

  @Test(
    arguments: [
      ("", "Switchboard", "switchboard@localhost"), ("a@b.example", "Switchboard", "a@b.example"),
      ("Go Club <a@b.example>", "Go Club", "a@b.example"), ("Gö<a@b>", "Gö", "a@b"),
      (#""Go, \"Club\" \\ <Co>" <a@b>"#, #"Go, "Club" \ <Co>"#, "a@b"),
      ("B, A <a@b>", "B, A", "a@b"),
    ])
  func theSenderIsAnAddressWithOrWithoutAName(text: String, name: String, address: String) {
    let (settings, complaints) = read(["SWITCHBOARD_MAIL_FROM": text])
    #expect(complaints == [])
    #expect(settings?.senderName == name && settings?.sender == address)
  }

  @Test(arguments: [
    "nobody", "a b@c", "a@b\nBcc: x", "<a@b>", "a@b>", "a@b\u{0}", "a@b\u{7f}", "a@b,c@d", "@b",
    "a@b@c", "Go Club", "Go Club <nobody>", "Go Club <ä@b>", "Go\nClub <a@b>", " <a@b>",
    "Go <a@b> <c@d>", "Go <a@b> x", "\"Go <a@b>", "\"\" <a@b>",
    "\(String(repeating: "x", count: 61)) <a@b>",
  ])
  func aMalformedSenderIsAComplaint(sender: String) {
    #expect(
      read(["SWITCHBOARD_MAIL_FROM": sender]).1 == [
        "SWITCHBOARD_MAIL_FROM must be an e-mail address in ASCII, or Name <address> with a name of at most 60 characters."
      ])
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

  @Test func theContactIsTheAdministratorOrElseTheSite() {
    func contact(_ variables: [String: String]) -> String? {
      read(variables.merging(["SWITCHBOARD_ADMINISTRATOR": ""]) { first, _ in first }).0?.polling?
        .contact
    }
    let site = ["SWITCHBOARD_PUBLIC_URL": "http://api.example.org/x, https://old.example.org"]
    let administrator = ["SWITCHBOARD_ADMINISTRATOR": "me@example.org"]
    #expect(contact(administrator.merging(site) { $1 }) == "me@example.org")
    #expect(contact(site) == "http://api.example.org/x")
    #expect(contact(["SWITCHBOARD_MAIL_FROM": "sender@example.org"]) == nil)
    let without = read(["SWITCHBOARD_ADMINISTRATOR": ""]).0
    #expect(
      without?.missing == ["SWITCHBOARD_MAIL_COMMAND", "SWITCHBOARD_ADMINISTRATOR"] + Self.apns)
  }

  @Test(
    arguments: [
      (nil, ""), ("", ""), ("none", ""), ("dev", "[dev] "), ("staging", "[staging] "),
    ] as [(String?, String)])
  func theEnvironmentStandsBeforeTheText(name: String?, prefix: String) {
    #expect(read(name.map { ["ENVIRONMENT": $0] } ?? [:]).0?.polling?.prefix == prefix)
  }

  @Test func onlineGoIsPolledWhereItIs() throws {
    let polling = try #require(read([:]).0?.polling)
    #expect(polling.baseURL == "https://online-go.com")
    #expect(polling.requestsPerSecond == 5)
    #expect(polling.userAgent == "Switchboard/\(Product.version) (+admin@example.org)")
    #expect(
      read(["SWITCHBOARD_SUBSTITUTES": "ogs=http://127.0.0.1:1"]).0?.polling?.baseURL
        == "http://127.0.0.1:1")
  }

  @Test(arguments: [
    ("SWITCHBOARD_SUBSTITUTES", "ogs=online-go.com"), ("OGS_REQUESTS_PER_SECOND", "0"),
    ("SWITCHBOARD_ADMINISTRATOR", "a@b\r\nX-Field: c"), ("SWITCHBOARD_ADMINISTRATOR", "a@b)c(d"),
    ("SWITCHBOARD_ADMINISTRATOR", "root"), ("SWITCHBOARD_ADMINISTRATOR", "https://example.org"),
    ("ENVIRONMENT", String(repeating: "x", count: 41)), ("ENVIRONMENT", "a\nb"),
  ])
  func aWayToPollThatIsNoneIsAComplaint(name: String, value: String) {
    let complaints = read([name: value]).1
    #expect(complaints.count == 1)
    #expect(complaints.first?.hasPrefix("\(name) must be ") == true)
  }

  @Test func withoutKeysThereAreNoSettings() {
    let (settings, complaints) = read(["SWITCHBOARD_COMPANION_KEYS": ""])
    #expect(settings == nil)
    #expect(complaints.count == 1)
    #expect(complaints.first?.contains("SWITCHBOARD_COMPANION_KEYS") == true)
  }
}

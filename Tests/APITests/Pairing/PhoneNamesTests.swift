import Base
import HTTP
import Store
import StoreCore
import Support
import Testing

@testable import API

/// Names that people give to paired phones.
@Suite struct PhoneNamesTests {
  private static let name = #"Ann's <b>"phone"</b> & Ü"#
  private static let shown = "Ann&#39;s &lt;b&gt;&quot;phone&quot;&lt;/b&gt; &amp; Ü"

  /// Sends the form that names a phone, like a browser.
  private func rename(_ id: String, to name: String, _ site: TestApplication) -> Answer {
    site.send(
      "POST", "/pair/phones/name", "id=\(id)&name=\(name.percentEncoded)",
      fields: [("Content-Type", "application/x-www-form-urlencoded")])
  }

  /// Expects a page with this error sentence.
  private func expect(_ answer: Answer, told sentence: String) {
    #expect(answer.status == 400)
    #expect(answer.text.contains("<p>\(sentence)</p>"), "\(answer.text)")
  }

  /// Pairs a phone that has this app.
  private func pair(_ site: TestApplication, _ app: String) throws -> (id: String, access: String) {
    let paired = try Paired(site.exchange(site.pairingToken(), userAgent: app))
    return (try #require(try site.payload(paired.access).deviceID), paired.access)
  }

  /// The name of the bearer in the answer to nginx.
  private func admitted(_ access: String, _ site: TestApplication) -> String? {
    site.application.checkedResponse(
      to: Request(
        method: "GET", path: "/_auth", fields: [("Authorization", "Bearer \(access)")],
        requestURI: "/ws")
    ).fields.first { $0.name == "X-Admitted-By" }?.value
  }

  @Test func aNameIsShownEscapedOnBothPagesAndItsPhoneKeepsItsApp() throws {
    try withAgent { site in
      let (other, ann) = (try pair(site, "cdev/1"), try pair(site, "cdev/2"))
      let answer = rename(ann.id, to: "  \(Self.name)\n", site)
      #expect(answer.status == 303)
      #expect(answer.field("Location") == "/pair/phones")
      let page = site.send("GET", "/pair/phones").text
      #expect(page.contains("<bdi>\(Self.shown)</bdi></h3>\n<p>App: <bdi>cdev/2</bdi>. Last used"))
      #expect(
        page.contains(#"<input name="name" value="\#(Self.shown)" maxlength="64" dir="auto">"#))
      #expect(page.contains(#"aria-labelledby="end-0 phone-0">End</button>"#))
      #expect(page.contains("<bdi>cdev/1</bdi></h3>\n<p>Last used"), "the other phone has no name")
      #expect(page.contains(#"<input name="name" value="" maxlength="64" dir="auto">"#))
      #expect(!page.contains("<b>"))
      #expect(site.sql("SELECT name FROM pairings WHERE id = '\(ann.id)'") == Self.name)
      #expect(site.sql("SELECT name FROM pairings WHERE id = '\(other.id)'") == "")
      #expect(
        site.sql("SELECT device_id FROM audit_log WHERE event = 'phone_renamed'") == ann.id)
    }
  }

  @Test func thePageWithTheCodeShowsTheName() throws {
    try withAgent { site in
      let ann = try pair(site, "cdev/1")
      _ = rename(ann.id, to: Self.name, site)
      #expect(site.send("GET", "/pair").text.contains("ago</time>: <bdi>\(Self.shown)</bdi></p>"))
    }
  }

  @Test func anEmptyNameGoesBackToTheApps() throws {
    try withAgent { site in
      let ann = try pair(site, "cdev/1")
      _ = rename(ann.id, to: "Ann", site)
      #expect(rename(ann.id, to: " \t", site).status == 303)
      #expect(
        site.send("GET", "/pair/phones").text.contains("<bdi>cdev/1</bdi></h3>\n<p>Last used"))
      #expect(admitted(ann.access, site) == "phone \(ann.id) cdev/1")
    }
  }

  @Test func theAgentLearnsTheNameAtTheNextRequest() throws {
    try withAgent { site in
      let ann = try pair(site, "cdev/1")
      #expect(admitted(ann.access, site) == "phone \(ann.id) cdev/1")
      _ = rename(ann.id, to: "Ann's \"Ü\"", site)
      #expect(admitted(ann.access, site) == "phone \(ann.id) Ann's %22%C3%9C%22")
      let ticket = try #require(
        site.send("POST", "/api/auth/ticket", token: ann.access).string("ticket"))
      let client = site.application.checkedResponse(
        to: Request(method: "GET", path: "/_auth", fields: [], requestURI: "/ws?token=\(ticket)")
      ).fields.first { $0.name == "X-Admitted-By" }.flatMap { AgentClient($0.value) }
      #expect(client?.pairedDevice == #"id="\#(ann.id)", name="Ann's %22%C3%9C%22""#)
    }
  }

  @Test(arguments: [
    String(repeating: "x", count: 65), String(repeating: "😀", count: 65), "a\u{7}b", "a\nb",
    "a\u{202E}b", "a\u{9B}b", "a\0b",
  ])
  func aNameThatIsTooLongOrHasControlsIsRefused(_ name: String) throws {
    try withAgent { site in
      let ann = try pair(site, "cdev/1")
      _ = rename(ann.id, to: "Ann", site)
      expect(rename(ann.id, to: name, site), told: PhoneName.rule)
      #expect(site.sql("SELECT name FROM pairings") == "Ann")
    }
  }

  @Test func aNameHas64Characters() throws {
    try withAgent { site in
      let ann = try pair(site, "cdev/1")
      for name in ["x", String(repeating: "😀", count: 64)] {
        #expect(rename(ann.id, to: name, site).status == 303)
        #expect(site.sql("SELECT name FROM pairings") == name)
        #expect(rename(ann.id, to: name, site).status == 303, "the same again")
      }
    }
  }

  @Test func aFormWithoutIDOrNameChangesNothing() throws {
    try withAgent { site in
      let ann = try pair(site, "cdev/1")
      let none = site.send("POST", "/pair/phones/name", "name=x")
      expect(none, told: "The form arrived incomplete. Open the page again.")
      expect(site.send("POST", "/pair/phones/name", "id=\(ann.id)"), told: "Enter a name.")
      #expect(site.count("pairings WHERE name = '' AND ended_at IS NULL") == 1)
    }
  }

  @Test func aPhoneWhosePairingHasEndedGetsNoName() throws {
    try withAgent { site in
      let (gone, old) = (try pair(site, "cdev/1"), try pair(site, "cdev/2"))
      _ = site.send("POST", "/pair/phones", "id=\(gone.id)")
      #expect(rename(gone.id, to: "x", site).status == 303)
      site.advance(by: .seconds(8 * 86_400))
      #expect(rename(old.id, to: "x", site).status == 303)
      #expect(rename("unknown", to: "x", site).status == 303)
      #expect(site.count("pairings WHERE name <> ''") == 0)
      #expect(site.count("audit_log WHERE event = 'phone_renamed'") == 0)
    }
  }

  /// The relay identifies a connection by the phone's name at the start of the connection.
  @Test func aRenamedPhoneIsCutUnderBothNames() throws {
    try withAgent { site in
      let ann = try pair(site, "cdev/1")
      let clients: Set = [
        AgentClient.phone(id: ann.id, name: "cdev/1"), .phone(id: ann.id, name: "Ann"),
      ]
      func ended() throws -> Set<AgentClient> {
        try AgentClients(accountSettings(of: "relay", in: site.root))
          .ended(among: clients, at: site.now)
      }
      #expect(try ended() == [])
      _ = site.send("POST", "/pair/phones", "id=\(ann.id)")
      #expect(try ended() == clients)
    }
  }
}

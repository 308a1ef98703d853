import Base
import HTTP
import Store
import StoreCore
import Support
import Testing

@testable import API

/// The pages about paired phones, the six digits, and the connections that the relay must close.
@Suite struct PairedPhonesTests {
  private func code(_ site: TestApplication) throws -> String {
    let page = site.send("GET", "/pair").text
    return String(try #require(page.firstMatch(of: /<dt>Code to type<\/dt><dd>(\d{6})<\/dd>/)).1)
  }

  private func type(_ code: String, _ site: TestApplication, address: String = "192.0.2.1")
    -> Answer
  {
    site.send("POST", "/api/pair/code", #"{"code":"\#(code)"}"#, address: address)
  }

  @Test func theSixDigitsGiveTheTokenThatPairsOnePhone() throws {
    try withAgent { site in
      let (code, token) = (try code(site), try site.pairingToken())
      #expect(type(code, site).string("pairing_token") == token)
      #expect(type(code, site).string("pairing_token") == token, "an answer may be lost")
      #expect(site.exchange(token).status == 200)
      expect(type(code, site), 401, "Invalid or expired pairing code")
      #expect(try self.code(site) != code)
    }
  }

  @Test func aWrongCodeIsRefusedAndTriedTenTimesAtMost() throws {
    try withAgent { site in
      let code = try code(site)
      let wrong = code == "000000" ? "000001" : "000000"
      for number in 1...10 {
        // The addresses differ, so that no other limit applies.
        let answer = type(wrong, site, address: "192.0.2.\(number)")
        expect(answer, 401, "Invalid or expired pairing code")
      }
      #expect(type(code, site).status == 429)
      #expect(site.send("POST", "/api/pair/refresh").status == 200)
      #expect(type(try self.code(site), site).status == 200)
    }
  }

  @Test func aCodeIsDeadWithItsToken() throws {
    try withAgent { site in
      let code = try code(site)
      site.advance(by: .seconds(3601))
      expect(type(code, site), 401, "Invalid or expired pairing code")
      for body in ["", "{}", #"{"code":""}"#] {
        #expect(site.send("POST", "/api/pair/code", body).status == 400, "\(body)")
      }
    }
  }

  @Test func thePageSaysThatAPhoneHasPaired() throws {
    try withAgent { site in
      #expect(site.send("GET", "/pair").text.contains(#"<p role="status"></p>"#))
      _ = site.exchange(try site.pairingToken(), userAgent: "<My phone>")
      site.advance(by: .seconds(61))
      let page = site.send("GET", "/pair").text
      #expect(page.contains(">1 minute ago</time>: <bdi>&lt;My phone&gt;</bdi></p>"))
      site.advance(by: .seconds(600))
      #expect(site.send("GET", "/pair").text.contains(#"<p role="status"></p>"#))
    }
  }

  @Test func thePageShowsANewTokenBeforeTheLastFiveMinutes() throws {
    try withAgent { site in
      let before = try code(site)
      site.advance(by: .seconds(3299))
      #expect(site.send("GET", "/pair").text.contains(">in 5 minutes</time>"))
      #expect(try code(site) == before)
      site.advance(by: .seconds(2))
      #expect(site.send("GET", "/pair").text.contains(">in 59 minutes</time>"))
      #expect(try code(site) != before)
    }
  }

  @Test func threeHundredPhonesAreListedAndEndedOneByOne() throws {
    try withAgent { site in
      for number in 1...300 {
        _ = site.exchange(try site.pairingToken(), userAgent: "phone \(number);")
        site.advance(by: .seconds(60))
      }
      let page = site.send("GET", "/pair/phones").text
      #expect(page.contains("300 phones may reach the agent."))
      for number in 1...300 { #expect(page.contains("<bdi>phone \(number);</bdi></h3>")) }
      #expect(page.contains(/Last used <time [^>]*>1 minute ago<\/time>. Paired <time/))
      #expect(page.contains(">1 minute ago</time> from <bdi>192.0.2.1</bdi>."))
      let id = try #require(page.firstMatch(of: /name="id" value="([^"]+)"/)).1
      let ended = site.application.checkedResponse(
        to: Request(
          method: "POST", path: "/pair/phones",
          fields: [("Content-Type", "application/x-www-form-urlencoded")],
          body: Array("id=\(id)".utf8)))
      #expect(ended.status == 303)
      let after = site.send("GET", "/pair/phones").text
      #expect(after.contains("299 phones may reach the agent."))
      #expect(!after.contains(id))
      #expect(site.sql("SELECT end_reason FROM pairings WHERE id = '\(id)'") == "administrator")
      #expect(site.send("POST", "/pair/phones").status == 400)
    }
  }

  @Test func theRelayLearnsWhoIsAdmittedNoMore() throws {
    try withAgent { site in
      let relay = AgentClients(accountSettings(of: "relay", in: site.root))
      func ended(_ clients: Set<AgentClient>) throws -> Set<AgentClient> {
        try relay.ended(among: clients, at: site.now)
      }
      let token = try site.payload(site.pairingToken())
      let legacy = AgentClient.pairingToken(nonce: token.nonce)
      let unknown = AgentClient.phone(id: "01890a5d-ac96-774b-bcce-b302099a8010", name: "x")
      #expect(try ended([legacy, .anyone, unknown]) == [unknown])
      let phones = try (1...3).map { _ in
        try site.payload(site.pair().access).deviceID.map { AgentClient.phone(id: $0, name: "") }!
      }
      #expect(try ended(Set(phones)) == [])
      #expect(try ended([legacy]) == [legacy], "a phone has spent it")
      site.sql(
        "UPDATE pairings SET ended_at = NOW(3), end_reason = 'reuse' WHERE id = '\(try site.id(of: phones[0]))'"
      )
      #expect(try ended(Set(phones)) == [phones[0]])
      site.advance(by: .seconds(7 * 86_400))
      #expect(try ended(Set(phones)) == Set(phones))
    }
  }
}

extension TestApplication {
  fileprivate func id(of client: AgentClient) throws -> String {
    guard case .phone(let id, _) = client else { throw Failure.notFound }
    return id
  }
}

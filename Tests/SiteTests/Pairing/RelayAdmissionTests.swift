import Foundation
import Support
import Testing

/// Checks of the relay against the database. They refuse requests from processes other than the web
/// server, and requests that the responder admitted wrongly.
@Suite(.serialized) struct RelayAdmissionTests {
  private func status(_ site: Site, admittedBy client: String) -> Int? {
    let outcome = Site.run([
      "curl", "--silent", "--output", "/dev/null", "--write-out",
      "%{http_code}", "--unix-socket", site.socket("relay"), "--header",
      "X-Admitted-By: \(client)", "http://relay/api/file",
    ])
    return Int(outcome.output)
  }

  @Test func whomTheDatabaseDoesNotKnowDoesNotReachTheAgent() async throws {
    try await withAgent { site, agent in
      let stranger = UUID().uuidString.lowercased()
      for client in [
        "phone \(stranger) x", "token AAAAAAAAAAAAAAAA", "anyone", "phone x", "token x",
      ] {
        #expect(status(site, admittedBy: client) == 401, "\(client)")
      }
      _ = try site.pair()
      let id = try site.sql("SELECT id FROM pairings").trimmed
      let nonce = "BBBBBBBBBBBBBBBB"
      _ = try site.sql(
        """
        INSERT INTO pairing_tokens (nonce, issued_at, expires_at)
          VALUES ('\(nonce)', UTC_TIMESTAMP(3), UTC_TIMESTAMP(3) + INTERVAL 1 HOUR)
        """)
      #expect(agent.seen.isEmpty)
      #expect(status(site, admittedBy: "phone \(id) any name") == 200)
      #expect(status(site, admittedBy: "token \(nonce)") == 200)
      #expect(agent.seen.count == 2)
      for (statement, client) in [
        ("UPDATE pairings SET ended_at = UTC_TIMESTAMP(3), end_reason = 'phone'", "phone \(id) x"),
        (
          "UPDATE pairing_tokens SET revoked_at = UTC_TIMESTAMP(3) WHERE nonce = '\(nonce)'",
          "token \(nonce)"
        ),
      ] {
        let kept = Wire(unixSocket: site.socket("relay"))
        kept.write("GET /api/file HTTP/1.1\r\nX-Admitted-By: \(client)\r\n\r\n")
        #expect(kept.head()?.hasPrefix("HTTP/1.1 200 ") == true)
        #expect(kept.bytes(14).elementsEqual(#"{"agent":true}"#.utf8))
        _ = try site.sql(statement)
        #expect(status(site, admittedBy: client) == 401, "\(client)")
        kept.write("GET /api/file HTTP/1.1\r\nX-Admitted-By: \(client)\r\n\r\n")
        #expect(kept.head()?.hasPrefix("HTTP/1.1 401 ") == true, "\(client)")
      }
      #expect(agent.seen.count == 4)
    }
  }

  @Test func whileTheDatabaseIsAwayNobodyNewReachesTheAgent() async throws {
    try await withAgent { site, agent in
      _ = try site.pair()
      let id = try site.sql("SELECT id FROM pairings").trimmed
      let database = try #require(site.pid(of: "mariadb"))
      freeze(database)
      #expect(status(site, admittedBy: "phone \(id) x") == 503)
      kill(database, SIGCONT)
      wait(for: "an answer of the agent") { status(site, admittedBy: "phone \(id) x") == 200 }
      #expect(agent.seen.count == 1)
    }
  }

  @Test func withoutAuthenticationTheRelayLetsAnyoneInWhereItIsSetSo() async throws {
    let agent = FakeAgent()
    defer { agent.end() }
    try await withSite(
      environment: ["SWITCHBOARD_REQUIRE_AUTH": "false"], agent: agent.address
    ) { site in
      #expect(status(site, admittedBy: "anyone") == 200)
      #expect(status(site, admittedBy: "phone \(UUID().uuidString.lowercased()) x") == 401)
    }
  }
}

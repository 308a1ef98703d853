import Foundation
import Support
import Testing

/// Attacks against the deployed web server, the responder and the relay.
@Suite(.serialized) struct AttackTests {
  @Test func noAttackReachesTheAgentOrAPairingToken() async throws {
    try await withAgent { site, agent in
      let phone = try site.pair()
      let before = try site.pairingToken()
      #expect(AttackShapes.all.count >= 200)
      let isLighttpd = WebServer.ofTests.isLighttpd
      for shape in AttackShapes.all where !(isLighttpd && shape.isMendedByLighttpd) {
        let answer = site.answer(to: shape, token: phone.access)
        #expect(!answer.contains("cdev_p_") && !answer.contains("image/png"), "\(shape.name)")
        #expect(!answer.contains("HTTP/1.1 101"), "\(shape.name)")
        #expect(!answer.contains(#"{"agent":true}"#), "\(shape.name)")
      }
      #expect(agent.seen == [])
      #expect(try site.pairingToken() == before, "nobody has revoked it")
      #expect(site.upgrade("/ws", "Authorization: Bearer \(phone.access)") == 101)
      #expect(
        site.upgrade("/ws", "Origin: \(site.url)\r\nAuthorization: Bearer \(phone.access)") == 101)
    }
  }

  @Test func theAgentsAnswersAreNotTheSitesOwn() async throws {
    try await withAgent { site, agent in
      let bearer = "Authorization: Bearer \(try site.pair().access)"
      for path in ["/api/claude/hostile", "/api/file?x=/hostile"] {
        let answer = site.curl(path, "--header", bearer)
        #expect(answer.status == 200)
        #expect(answer.body == "<script>alert('a')</script>")
        #expect(answer.fields["content-type"] == "text/html")
        #expect(answer.fields["content-security-policy"] == "sandbox")
        #expect(answer.fields["x-content-type-options"] == "nosniff")
        #expect(answer.fields["x-request-id"]?.count == 32)
        for name in FakeAgent.hostileNames { #expect(answer.fields[name] == nil, "\(name)") }
      }
      // The apps' answers are unchanged.
      let plain = site.curl("/api/claude/run", "--header", bearer)
      #expect(plain.body == #"{"agent":true}"#)
      #expect(plain.fields["content-type"] == "application/json")
      #expect(site.upgrade("/ws", bearer) == 101)
    }
  }

  /// The rule about other sites' pages uses the method of the original request, not of the
  /// subrequest.
  @Test func withoutAuthenticationAPageOfAnotherSiteMayOnlyLink() async throws {
    let agent = FakeAgent()
    defer { agent.end() }
    try await withSite(
      environment: ["SWITCHBOARD_REQUIRE_AUTH": "false"], agent: agent.address
    ) { site in
      let fetch = ["cross-site", "navigate", "document"]
      let fields = zip(["Site", "Mode", "Dest"], fetch).flatMap {
        ["--header", "Sec-Fetch-\($0): \($1)"]
      }
      #expect(site.curl("/api/claude/run", fields).status == 200)
      #expect(agent.seen.count == 1)
      for method in [["--data", "a=b"], ["--request", "DELETE"], ["--head"]] {
        #expect(site.curl("/api/claude/run", fields + method).status == 403, "\(method)")
      }
      #expect(agent.seen.count == 1)
    }
  }

  @Test func withoutAuthenticationOnlyThisMachinesOwnPagesReachTheAgent() async throws {
    let agent = FakeAgent()
    defer { agent.end() }
    try await withSite(
      environment: ["SWITCHBOARD_REQUIRE_AUTH": "false"], agent: agent.address
    ) { site in
      for path in ["/api/file", "/api/status"] {
        for options in [
          ["--interface", "127.0.0.2"], ["--header", "Host: evil.example"],
          ["--header", "Origin: http://evil.example"], ["--header", "X-Forwarded-For: 127.0.0.1"],
          ["--header", "Sec-Fetch-Site: cross-site"],
        ] {
          let refused = site.curl(path, options)
          #expect(refused.status == 403, "\(path) \(options)")
          #expect(refused.body.hasPrefix(#"{"error":""#))
          #expect(!refused.body.contains("expired"))
        }
      }
      #expect(agent.seen == [])
      #expect(site.curl("/api/file", "--header", "Origin: \(site.url)").status == 200)
    }
  }
}

extension Site {
  /// Sends the request and returns all bytes until the connection ends.
  fileprivate func answer(to shape: AttackShapes.Shape, token: String) -> String {
    let wire = Wire(port: port)
    let fields = shape.lines.map {
      $0.replacingOccurrences(of: "PORT", with: "\(port)")
        .replacingOccurrences(of: "TOKEN", with: token)
    }
    let isUpgrade = fields.contains { $0.hasPrefix("Connection:") }
    let all = fields + (isUpgrade ? [] : ["Connection: close"])
    wire.write(all.joined(separator: "\r\n") + "\r\n\r\n")
    guard let head = wire.head() else { return "" }
    let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) }
    return head + String(decoding: wire.bytes(length ?? 1 << 16), as: UTF8.self)
  }
}

import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

/// The protected agent behind the deployed web server.
@Suite(.serialized) struct PairingTests {
  private static let web = WebServer.ofTests
  private static let agentPaths = ["/api/claude/run", "/api/git/status", "/api/file"]

  @Test func accessPairingAndTicketTokensOpenAWebSocket() async throws {
    try await withAgent { site, agent in
      let phone = try site.pair()
      let pairing = try site.pairingToken()
      for token in [phone.access, pairing] {
        #expect(site.upgrade("/ws?token=\(token)") == 101)
        #expect(site.upgrade("/ws", "Authorization: Bearer \(token)") == 101)
      }
      let ticket = try site.ticket(phone.access)
      #expect(site.upgrade("/ws?token=\(ticket)") == 101)
      #expect(site.upgrade("/ws?token=\(ticket)") == 401)
      for refused in [phone.refresh, "garbage", "cdev_s_garbage", ""] {
        #expect(site.upgrade("/ws?token=\(refused)") == 401)
      }
      #expect(site.upgrade("/ws") == 401)
      for token in try site.expiredTokens(like: phone.access) {
        #expect(site.upgrade("/ws?token=\(token)") == 403)
      }
      let late = try site.ticket(phone.access)
      _ = try site.sql(
        "UPDATE pairing_tickets SET expires_at = UTC_TIMESTAMP(3) - INTERVAL 1 SECOND")
      #expect(site.upgrade("/ws?token=\(late)") == 403)
      #expect(agent.seen.count == 5)
    }
  }

  @Test func theAgentAnswersAdmittedRequestsAndSeesNoToken() async throws {
    try await withAgent { site, agent in
      let phone = try site.pair()
      let bearer = "Authorization: Bearer \(phone.access)"
      for path in Self.agentPaths {
        for answer in [
          site.curl(path, "--header", bearer), site.curl("\(path)?a=1&token=\(phone.access)&b=2"),
          site.curl(path + "?token=\(phone.access)"),
          site.curl(path, "--header", bearer, "--data", "body-of-\(path)"),
        ] {
          #expect(answer.status == 200, "\(path)")
          #expect(answer.body == #"{"agent":true}"#)
          #expect(answer.fields["x-request-id"]?.count == 32)
        }
        let refused = site.curl(path)
        #expect(refused.status == 401)
        #expect(refused.body == #"{"error":"Unauthorized"}"#)
        #expect(refused.fields["www-authenticate"] == "Bearer")
        #expect(refused.fields["content-type"] == "application/json")
        for token in try site.expiredTokens(like: phone.access) {
          #expect(site.curl("\(path)?token=\(token)").status == 401)
        }
      }
      let seen = agent.seen
      #expect(seen.count == 12)
      #expect(seen.contains { $0.hasPrefix("GET /api/file?a=1&b=2 HTTP") })
      #expect(seen.contains { $0.hasPrefix("GET /api/file HTTP") })
      #expect(seen.contains { $0.hasSuffix("body-of-/api/claude/run") })
      #expect(!seen.contains { $0.contains("cdev_") || $0.lowercased().contains("authorization") })
    }
  }

  @Test func otherPathsDoNotReachTheAgent() async throws {
    try await withAgent { site, agent in
      for path in [
        "/api/claude", "/api/git", "/api/files", "/api/file/", "/ws/", "/wsx", "/WS", "//ws",
        "/x/../ws",
        "/api/claude/../file", "/api/claude/..%2ffile", "/%77s", "/api/claude/x%2Fy", "/_auth",
        "/api//claude/x", "/api/claude/./x",
      ] {
        let answer = site.curl(path)
        #expect([400, 401, 404].contains(answer.status), "\(path): \(answer.status)")
        #expect(answer.fields["content-type"] == "application/json", "\(path)")
      }
      let phone = try site.pair()
      let hidden = site.curl(
        "/api/claude/x%2Fy", "--header", "Authorization: Bearer \(phone.access)")
      #expect(hidden.status == 404)
      #expect(agent.seen == [])
    }
  }

  @Test func errorsOfTheAgentPassAndThoseOfNginxAreJSON() async throws {
    try await withAgent { site, agent in
      let bearer = "Authorization: Bearer \(try site.pair().access)"
      // With content, so that the relay keeps no connection to the agent for a later request.
      let broken = site.curl("/api/claude/broken", "--header", bearer, "--data", "x")
      #expect(broken.status == 500)
      #expect(broken.body == #"{"agent":true}"#)
      let file = site.state + "/body"
      let limit = 16 << 20
      for (path, size, text) in [
        ("/api/auth/exchange", 65_537, "65536 bytes"), ("/api/pair/refresh", 65_537, "65536 bytes"),
        ("/api/claude/run", limit + 1, "16 MiB"),
      ] {
        try Data(repeating: 32, count: size).write(to: URL(filePath: file))
        let large = site.curl(path, "--header", bearer, "--data-binary", "@\(file)")
        #expect(large.status == 413, "\(path)")
        #expect(large.body == #"{"error":"The body is larger than \#(text)"}"#, "\(path)")
      }
      try Data(repeating: 97, count: limit).write(to: URL(filePath: file))
      let largest = site.curl("/api/claude/run", "--header", bearer, "--data-binary", "@\(file)")
      #expect(largest.status == 200)
      #expect(agent.seen.last?.hasSuffix(String(repeating: "a", count: limit)) == true)
      #expect(try site.curl("/api/status", "--header", bearer).string("agent") == "up")
      agent.end()
      #expect(try site.curl("/api/status", "--header", bearer).string("agent") == "away")
      for options in [["--data-binary", "@\(file)"], []] {
        let gone = site.curl("/api/git/status", ["--header", bearer] + options)
        #expect(gone.status == 503)
        #expect(
          gone.body == #"{"error":"The agent does not answer. Start it, and then try again."}"#)
        #expect(gone.fields["retry-after"] == "2")
        #expect(gone.fields["content-type"] == "application/json")
      }
      // As a child of lighttpd the responder has no keeper.
      guard Self.web.hasResponder || Self.web.isApache else { return }
      kill(try #require(site.keeper(of: Self.web.authorizer)), SIGKILL)
      let responder = try #require(site.pid(of: Self.web.authorizer))
      kill(responder, SIGKILL)
      wait(for: "the end of the responder") { kill(responder, 0) != 0 }
      for path in ["/api/git/status", "/ws"] {
        let unasked = site.curl(path, "--header", bearer)
        #expect(unasked.status == (Self.web.isApache ? 500 : 503))
        // lighttpd cannot tell which program does not answer.
        let body = #"{"error":"Temporarily unavailable"}"#
        #expect(Self.web.isLighttpd || unasked.body == body)
        #expect(unasked.fields["retry-after"] == "2")
      }
    }
  }

  @Test func withoutMariaDBRequestsAre503AndNot401() async throws {
    try await withAgent { site, _ in
      let bearer = "Authorization: Bearer \(try site.pair().access)"
      kill(try #require(site.keeper(of: "mariadb")), SIGKILL)
      kill(try #require(site.pid(of: "mariadb")), SIGKILL)
      for path in ["/ws", "/api/status"] {
        let answer = site.curl(path, "--header", bearer)
        #expect(answer.status == 503, "\(path)")
        #expect(answer.body == #"{"error":"Temporarily unavailable"}"#)
        #expect(answer.fields["retry-after"] == "2")
      }
    }
  }

  @Test func onlyThisMachineSeesTheCode() async throws {
    try await withSite { site in
      // Only nginx has its own list of addresses. A proxy is on the list, so then only the
      // responder refuses.
      let isRefusedByNginx = Self.web == .nginx && !WebServer.isBehindProxy
      for path in ["/pair", "/api/pair/info", "/api/pair/qr", "/api/pair/nothing"] {
        let refused = site.curl(path, "--interface", "127.0.0.2")
        if path == "/api/pair/nothing", !isRefusedByNginx {
          #expect(refused.status == 404)
          continue
        }
        #expect(refused.status == 403, "\(path)")
        // The responder refuses with a page for people.
        let isPage = path == "/pair" && !isRefusedByNginx
        if isRefusedByNginx {
          #expect(refused.body == #"{"error":"Forbidden"}"#)
        } else {
          #expect(
            refused.body.contains(
              isPage ? "Phones are paired only from this machine" : "SWITCHBOARD_PAIRING_ALLOW"))
        }
        #expect(
          refused.fields["content-type"]
            == (isPage ? "text/html; charset=utf-8" : "application/json"))
      }
      #expect(
        site.curl("/api/pair/refresh", "--interface", "127.0.0.2", "--data", "").status == 403)
      #expect(site.curl("/pair").status == 200)
      let body = #"{"pairing_token":"\#(try site.pairingToken())"}"#
      let elsewhere = site.curl("/api/auth/exchange", "--interface", "127.0.0.2", "--data", body)
      #expect(elsewhere.status == 200)
    }
  }

  @Test func noTokenReachesALog() async throws {
    try await withAgent { site, agent in
      let phone = try site.pair()
      let pairing = try site.pairingToken()
      let ticket = try site.ticket(phone.access)
      let secrets = [phone.access, phone.refresh, pairing, ticket, "body-secret"]
      func useAll() throws {
        for secret in secrets {
          for path in ["/ws", "/api/file", "/api/status", "/api/claude/run", "/api/auth/exchange"] {
            _ = site.curl("\(path)?%74oken=\(secret)")
            _ = site.curl("\(path)?token=\(secret)", "--data", "body-secret")
            _ = site.curl(path, "--header", "Authorization: Bearer \(secret)", "--data", secret)
          }
          _ = site.upgrade("/ws?token=\(secret)")
        }
      }
      try useAll()
      // The web server logs errors while the agent and the responder are down.
      agent.end()
      try useAll()
      kill(try #require(site.keeper(of: "mariadb")), SIGKILL)
      kill(try #require(site.pid(of: "mariadb")), SIGKILL)
      _ = site.curl("/ws?token=\(phone.access)")
      if Self.web.hasResponder {
        kill(try #require(site.keeper(of: "responder")), SIGKILL)
        kill(try #require(site.pid(of: "responder")), SIGKILL)
      }
      _ = site.curl("/ws?token=\(phone.access)")
      _ = site.curl("/api/status?token=\(phone.access)")
      let last = site.curl("/api/pair/info")
      let id = try #require(last.fields["x-request-id"])
      try wait(for: "the request in the log of the web server") {
        try site.log("web-access").contains(id)
      }
      for log in ["web-access", "web-error", "companion", "mariadb"]
        + (Self.web.hasResponder ? ["responder"] : [])
      {
        let text = try site.log(log)
        for secret in secrets { #expect(!text.contains(secret), "\(log)") }
      }
      #expect(
        try Self.web != .nginx || site.log("web-error").contains("/api/pair/info"),
        "the other rooms' errors are there")
      #expect(try site.log("web-access").contains(#""GET /ws?[redacted] HTTP/1.1" 101"#))
    }
  }

  @Test func withoutAuthenticationTheAgentIsOpen() async throws {
    let agent = FakeAgent()
    defer { agent.end() }
    let settings = ["SWITCHBOARD_REQUIRE_AUTH": "false", "SWITCHBOARD_REPO": "cdev"]
    try await withSite(environment: settings, agent: agent.address) { site in
      #expect(site.upgrade("/ws") == 101)
      #expect(site.curl("/api/file").body == #"{"agent":true}"#)
      #expect(!site.curl("/api/pair/info").body.contains("token"))
      let repo = try site.curl("/api/status").string("repo")
      #expect(repo == "cdev")
    }
  }

  @Test func aRevokedPhoneIsRefusedAtItsNextRequest() async throws {
    try await withAgent { site, _ in
      let (gone, other) = (try site.pair(), try site.pair())
      func bearer(_ phone: Phone) -> String { "Authorization: Bearer \(phone.access)" }
      #expect(site.upgrade("/ws", bearer(gone)) == 101)
      let list = site.companion("pairings")
      #expect(list.status == 0, "\(list.output)")
      #expect(list.output.split(separator: "\n").count == 3)
      let id = try site.sql("SELECT id FROM pairings ORDER BY paired_at LIMIT 1").trimmed
      #expect(list.output.contains(id))
      #expect(site.companion("pairings", "revoke", id).status == 0)
      #expect(site.upgrade("/ws", bearer(gone)) == 401)
      #expect(site.curl("/api/file", "--header", bearer(gone)).status == 401)
      let body = #"{"refresh_token":"\#(gone.refresh)"}"#
      #expect(site.post("/api/auth/refresh", body).status == 401)
      #expect(site.upgrade("/ws", bearer(other)) == 101)
      #expect(!site.companion("pairings").output.contains(id))
      #expect(site.companion("pairings", "revoke", id).status == 1)
    }
  }

  @Test func theTerminalShowsWhatThePageShows() async throws {
    try await withSite(environment: ["SWITCHBOARD_REPO": "cdev"]) { site in
      let json = site.companion("pair", "--json")
      #expect(json.status == 0, "\(json.output)")
      #expect(json.output == site.curl("/api/pair/info").body + "\n")
      let shown = site.companion("pair").output
      let session = try site.curl("/api/pair/info").string("session")
      for part in [
        "WebSocket      ws://127.0.0.1:\(site.port)/ws", "HTTP           \(site.url)",
        "Session        \(session.prefix(8))...", "Repo           cdev", "Auth Required",
      ] {
        #expect(shown.contains("\(part)\n"), "\(part)")
      }
      let read = try reading(ofTerminal: shown)
      let code = try #require(
        JSONSerialization.jsonObject(with: Data(read.utf8)) as? [String: String])
      #expect(code["token"] == (try site.pairingToken()))
    }
  }
}

/// Calls `body` with a site that protects an agent.
func withAgent(
  isolation: isolated (any Actor)? = #isolation,
  _ body: (Site, FakeAgent) async throws -> Void
) async throws {
  let agent = FakeAgent()
  defer { agent.end() }
  try await withSite(agent: agent.address) { try await body($0, agent) }
}

/// The content of a QR code in half blocks on a terminal. A half block shows two modules, one above
/// the other.
private func reading(ofTerminal text: String) throws -> String {
  var rows: [[UInt8]] = []
  for line in text.split(separator: "\n") where line.hasPrefix("\u{1b}[38;5;16;48;5;231m") {
    let cells = line.dropFirst("\u{1b}[38;5;16;48;5;231m".count).prefix { $0 != "\u{1b}" }
    for half in ["▀█", "▄█"] {
      let row = cells.flatMap { [UInt8](repeating: half.contains($0) ? 0 : 255, count: 4) }
      rows += [[UInt8]](repeating: row, count: 4)
    }
  }
  let picture = Data("P5 \(rows[0].count) \(rows.count) 255\n".utf8) + Data(rows.joined())
  return try qrContents(of: [picture]).joined()
}

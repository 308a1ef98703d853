import Foundation
import Support
import Synchronization
import Testing

/// Open connections to the agent behind the deployed web server, and their end.
@Suite(.serialized) struct RelayTests {
  /// The ways to end the pairing of the phone.
  private static let ways: [(name: String, end: @Sendable (Site, Phone, String) throws -> Void)] = [
    ("the phone's own API call", { site, phone, _ in try site.revoke(phone) }),
    (
      "the administrator's command",
      { site, _, id in
        #expect(site.companion("pairings", "revoke", id).status == 0)
      }
    ),
    (
      "a copy of its refresh token",
      { site, phone, _ in
        let next = try site.phone(site.refresh(phone.refresh))
        _ = site.curl("/api/file", "--header", "Authorization: Bearer \(next.access)")
        // A use long after the rotation and the first use of its tokens counts as theft.
        _ = try site.sql(
          """
          UPDATE pairings SET rotated_at = rotated_at - INTERVAL 5 MINUTE,
            last_used_at = last_used_at - INTERVAL 5 MINUTE
          """)
        #expect(site.refresh(phone.refresh).status == 401)
      }
    ),
    (
      "its expiry",
      { site, _, id in
        _ = try site.sql(
          """
          UPDATE pairings SET rotated_at = paired_at - INTERVAL 8 DAY,
            expires_at = UTC_TIMESTAMP(3) WHERE id = '\(id)'
          """)
      }
    ),
  ]

  @Test func aStolenPhoneIsOutAndNobodyElseIs() async throws {
    try await withAgent { site, agent in
      let (other, legacy) = (try site.pair(), try site.pairingToken())
      let kept = [try site.webSocket(other.access), try site.webSocket(legacy)]
      for (name, end) in Self.ways {
        // A pairing uses up the token on the page. The reset makes a new token, so `legacy` stays.
        _ = try site.sql("UPDATE pairing_server SET current_nonce = NULL")
        let stolen = try site.pair()
        let id = try site.sql("SELECT id FROM pairings ORDER BY paired_at DESC LIMIT 1").trimmed
        let sockets = [try site.webSocket(stolen.access), try site.webSocket(stolen.access)]
        let stream = try site.stream(stolen.access)
        try end(site, stolen, id)
        let began = ContinuousClock.now
        for wire in sockets + [stream] { #expect(wire.byte() == nil, "\(name)") }
        print("cut after \(name): \(ContinuousClock.now - began)")
        #expect(site.upgrade("/ws?token=\(stolen.access)") == 401, "\(name)")
        for wire in kept { #expect(wire.echoes("still here"), "\(name)") }
      }
    }
  }

  @Test func revokingAllEndsAllAtOnce() async throws {
    try await withAgent { site, _ in
      let phone = try site.pair()
      let legacy = try site.pairingToken()
      let wires = [try site.webSocket(phone.access), try site.webSocket(legacy)]
      #expect(site.post("/api/pair/refresh", #"{"revoke":"all"}"#).status == 200)
      for wire in wires { #expect(wire.byte() == nil) }
    }
  }

  @Test func aSpentPairingTokenOpensNothingAndKeepsNothingOpen() async throws {
    try await withAgent { site, _ in
      let legacy = try site.pairingToken()
      let wire = try site.webSocket(legacy)
      _ = try site.pair()
      #expect(wire.byte() == nil)
    }
  }

  @Test func whileMariaDBIsAwayConnectionsStay() async throws {
    try await withAgent { site, _ in
      let phone = try site.pair()
      let wire = try site.webSocket(phone.access)
      let database = try #require(site.pid(of: "mariadb"))
      freeze(database)
      try wait(for: "the log line that connections stay open") {
        try site.log("relay").contains("stay open")
      }
      #expect(wire.echoes("still here"))
      kill(database, SIGCONT)
      try site.revoke(phone)
      #expect(wire.byte() == nil)
    }
  }

  /// Apache has one limit for all that it passes on, which is meant for the responder.
  @Test(.enabled(if: WebServer.ofTests.isApache))
  func theAgentMayTakeLongerThanTheResponder() async throws {
    try await withAgent { site, _ in
      let phone = try site.pair()
      let answer = site.curl(
        "/api/claude/late", "--header", "Authorization: Bearer \(phone.access)")
      #expect(answer.status == 200)
    }
  }

  @Test func theAgentLearnsWhichPhoneItIsAndNothingElse() async throws {
    try await withAgent { site, agent in
      let phone = try site.pair(userAgent: #"cdev/1 "Ü"; x\y%"#)
      let id = try site.sql("SELECT id FROM pairings").trimmed
      let secret = "secret-of-the-site"
      let spellings = [
        "token=\(phone.access)", "a=1&token=\(phone.access)&TOKEN=\(secret)",
        "%74oken=\(phone.access)&Token=\(secret)&b=2", "token=\(phone.access)&token=\(secret)",
        "token=\(phone.access)&%2574oken=\(secret)", "token=\(phone.access)&to%6ben[]=\(secret)",
        "token=\(phone.access);TOKEN=\(secret)", "token=\(phone.access)&+token=\(secret)",
        "token=\(phone.access)&next=/x?token%3d\(phone.access)",
        "token=\(phone.access)&access_token=\(secret)&x=\(phone.refresh.lowercased())",
      ].filter { !(WebServer.ofTests.isLighttpd && $0.contains("?")) }  // lighttpd allows one ?
      let fields = [
        "Authorization: Bearer \(phone.access)", "Proxy-Authorization: \(secret)",
        "Cookie: a=\(secret)", "X-Device-Credential: \(secret)", "X-API-Key: \(secret)",
        "X-Api-Key: \(secret)", "x_api_key: \(secret)", "X_Device_Credential: \(secret)",
        "Referer: http://x/?token=\(secret)", "X-Paired-Device: id=\"\(secret)\"",
        "X-Admitted-By: phone \(secret)", "X_Admitted_By: anyone", "X_Paired_Device: \(secret)",
        "Sec-WebSocket-Protocol: \(phone.access)", "X-Forwarded-For: \(secret)",
        "Forwarded: for=\(secret)", "X-Real-IP: \(secret)",
      ].flatMap { ["--header", $0] }
      for spelling in spellings {
        let answer = site.curl("/api/file?\(spelling)", ["--globoff"] + fields)
        #expect(answer.status == 200, "\(spelling)")
      }
      #expect(site.curl("/api/file?%74oken=\(phone.access)&b=2").status == 200)
      #expect(agent.seen.count == spellings.count + 1)
      for head in agent.seen {
        #expect(!head.contains(secret) && !head.lowercased().contains("cdev_"), "\(head)")
        #expect(
          head.contains("X-Paired-Device: id=\"\(id)\", name=\"cdev/1 %22%C3%9C%22; x%5Cy%25\"\r\n")
        )
        #expect(!head.contains("Admitted"))
      }
      #expect(agent.seen.contains { $0.hasPrefix("GET /api/file?b=2 HTTP/1.1\r\n") })
    }
  }

  /// The web server may send a request on a kept connection while the relay stops.
  @Test func aRestartOfTheRelayCutsNoRequest() async throws {
    try await withAgent { site, _ in
      let bearer = ["--header", "Authorization: Bearer \(try site.pair().access)"]
      let isOver = Atomic(false)
      let statuses = Mutex<Set<Int>>([])
      let threads = [[], ["--data", "{}"], ["--request", "DELETE"]].map { options in
        Thread {
          repeat {
            let seen = site.statuses(of: 100, "/api/claude/run", bearer + options)
            statuses.withLock { $0.formUnion(seen) }
          } while !isOver.load(ordering: .relaxed)
        }
      }
      for thread in threads { thread.start() }
      for _ in 1...2 { site.restart("relay") }
      isOver.store(true, ordering: .relaxed)
      wait(for: "the end of the clients") { threads.allSatisfy(\.isFinished) }
      #expect(statuses.withLock { $0 } == [200])
    }
  }

  @Test func fiveHundredOpenSocketsFitIn64Megabytes() async throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = min(limit.rlim_max, 8192)
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    try await withAgent { site, _ in
      let phone = try site.pair()
      let wires = try (1...500).map { _ in try site.webSocket(phone.access) }
      for wire in wires { #expect(wire.echoes(String(repeating: "x", count: 4000))) }
      let relay = try #require(site.pid(of: "relay"))
      let status = try String(contentsOfFile: "/proc/\(relay)/status", encoding: .utf8)
      let size = try #require(status.firstMatch(of: /VmRSS:\s+(\d+) kB/).flatMap { Int($0.1) })
      print("500 open sockets: \(size) kB")
      #expect(size < 64 * 1024)
      try site.revoke(phone)
      for wire in wires { #expect(wire.byte() == nil) }
    }
  }
}

extension Site {
  /// Opens a WebSocket and checks that it works.
  func webSocket(_ token: String) throws -> Wire {
    let wire = Wire(port: port)
    wire.write(
      "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        + "Authorization: Bearer \(token)\r\n\r\n")
    let head = wire.head() ?? ""
    try #require(head.hasPrefix("HTTP/1.1 101"), "\(head)")
    try #require(wire.echoes("ping"))
    return wire
  }

  /// Opens an answer that does not end.
  func stream(_ token: String) throws -> Wire {
    let wire = Wire(port: port)
    wire.write(
      "GET /api/claude/stream HTTP/1.0\r\nHost: 127.0.0.1:\(port)\r\nAuthorization: Bearer \(token)\r\n\r\n"
    )
    try #require(wire.head()?.contains(" 200 ") == true)
    try #require(wire.bytes(6) == Array("begun\n".utf8))
    return wire
  }

  func refresh(_ token: String) -> Answer {
    post("/api/auth/refresh", #"{"refresh_token":"\#(token)"}"#)
  }

  func revoke(_ phone: Phone) throws {
    try #require(post("/api/auth/revoke", #"{"refresh_token":"\#(phone.refresh)"}"#).status == 200)
  }
}

extension Wire {
  /// Whether the other side echoes the text.
  func echoes(_ text: String) -> Bool {
    write(text)
    return bytes(text.utf8.count).elementsEqual(text.utf8)
  }
}

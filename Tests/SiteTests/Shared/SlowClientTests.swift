import Foundation
import Support
import Testing

/// Effects of slow clients on other clients. Behind a proxy, the proxy is responsible.
@Suite(.serialized, .enabled(if: !WebServer.isBehindProxy)) struct SlowClientTests {
  private static let web = WebServer.ofTests

  /// The number of slow clients, from `SWITCHBOARD_SLOW_CLIENTS`. With 2,000, each answer must come
  /// within a second.
  private static let count =
    ProcessInfo.processInfo.environment["SWITCHBOARD_SLOW_CLIENTS"].flatMap { Int($0) } ?? 200

  @Test func slowClientsOfOneNetworkStopNoOther() async throws {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    try await withSite { site in
      let slow = SlowClients(Self.count, from: "127.0.0.2", to: site.port)
      defer { slow.end() }
      wait(for: "\(Self.count) slow clients, of which \(slow.begun) are connected") {
        slow.begun >= Self.count
      }
      var slowest = Duration.zero
      for _ in 1...5 {
        let begin = ContinuousClock.now
        #expect(site.curl("/health", "--interface", "127.0.0.3").status == 200)
        slowest = max(slowest, .now - begin)
      }
      print(
        "\(Self.count) slow clients behind \(Self.web): the slowest answer to another \(slowest)")
      if Self.count >= 2000 { #expect(slowest < .seconds(1)) }
    }
  }

  @Test func aNetworkHasANumberOfConnections() async throws {
    try await withSite { site in
      let slow = SlowClients(
        150, sending: [SlowClients.ofBody], from: "127.0.0.2", to: site.port)
      defer { slow.end() }
      var refused: Site.Answer?
      wait(for: "a refusal of one connection too many") {
        let answer = site.curl("/api/v1/models", "--interface", "127.0.0.2")
        if ![200, 401].contains(answer.status) { refused = answer }
        return refused != nil
      }
      // Apache closes the connection without an answer.
      #expect(refused?.status == (Self.web.isApache ? 0 : 429))
      if !Self.web.isApache {
        let body = #"{"error":{"code":"rate_limited","message":"Too many requests"}}"#
        #expect(refused?.body == body)
        #expect(refused?.fields["retry-after"] == "1")
        #expect(refused?.fields["content-type"] == "application/json")
      }
      #expect(site.curl("/health", "--interface", "127.0.0.3").status == 200)
    }
  }

  /// As CGI behind lighttpd, a body has only a time limit between octets: see the manual's page Web
  /// servers.
  @Test(.enabled(if: web != .lighttpdCGI)) func aSlowBodyEndsAsAWhole() async throws {
    try await withSite { site in
      let slow = SlowClients(
        1, sending: [SlowClients.ofBody], from: "127.0.0.2", to: site.port)
      defer { slow.end() }
      wait(for: "the end of the slow connection") { slow.ended > 0 }
    }
  }
}

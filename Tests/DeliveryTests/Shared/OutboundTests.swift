import Base
import Support
import Synchronization
import Testing

@testable import Delivery

/// Requests to addresses from rows.
@Suite struct OutboundTests {
  /// A local server that answers everything and counts connections.
  private final class Counted: Sendable {
    private let listener = LoopbackListener()!  // a free port
    private let count = Mutex(0)
    var port: UInt16 { listener.port }
    var connections: Int { count.withLock { $0 } }

    init(_ answer: String = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") {
      listener.begin { [self] descriptor in
        count.withLock { $0 += 1 }
        let wire = Wire(descriptor)
        while wire.head() != nil { wire.write(answer) }
      }
    }

    func end() { listener.end() }
  }

  private static let loopback = OutboundRule(allowing: [IPNetwork("127.0.0.0/8")!])

  private func error(_ body: () throws(HTTPError) -> HTTPAnswer) -> HTTPError? {
    do throws(HTTPError) {
      _ = try body()
      return nil
    } catch {
      return error
    }
  }

  @Test func aNameThatLeadsToThisMachineIsNotConnectedTo() throws {
    let server = Counted()
    defer { server.end() }
    let client = HTTPClient(userAgent: "test", clock: .still)
    let url = ForeignURL("http://localhost:\(server.port)/")
    let refusal = error { () throws(HTTPError) in
      try client.get(.foreign(url, under: OutboundRule()), entityTag: nil, limits: .init())
    }
    #expect(refusal?.kind == .forbiddenAddress)
    #expect(refusal?.reason.hasSuffix("is private: see SWITCHBOARD_OUTBOUND_ALLOW") == true)
    #expect(server.connections == 0)
    let answer = try client.get(
      .foreign(url, under: Self.loopback), entityTag: nil, limits: .init())
    #expect(answer.status == 200)
    #expect(server.connections == 1)
  }

  @Test(arguments: ["127.0.0.1", "[::1]", "10.0.0.1", "169.254.169.254", "[fd00::1]", "0.0.0.0"])
  func anAddressInPlaceOfANameIsLookedAtToo(host: String) {
    let client = HTTPClient(userAgent: "test", clock: .still)
    let refusal = error { () throws(HTTPError) in
      try client.get(
        .foreign(ForeignURL("http://\(host):9/"), under: OutboundRule()), entityTag: nil,
        limits: .init())
    }
    #expect(refusal?.kind == .forbiddenAddress)
  }

  @Test func onlyAddressesOfHTTPAreDestinations() {
    #expect(Destination(ForeignURL("ftp://example.org/"), under: Self.loopback) == nil)
    #expect(Destination(configured: "https://127.0.0.1/") != nil)
    #expect(Destination(configured: "tcp://127.0.0.1:1") == nil)
  }

  /// The open connection was made for an address of the configuration.
  @Test func aConnectionThatIsKeptIsLookedAtToo() throws {
    let server = Counted()
    defer { server.end() }
    let client = HTTPClient(userAgent: "test", clock: .still)
    let url = "http://localhost:\(server.port)/"
    #expect(
      try client.get(.configured(url), entityTag: nil, limits: .init()).status == 200)
    let refusal = error { () throws(HTTPError) in
      try client.get(
        .foreign(ForeignURL(url), under: OutboundRule()), entityTag: nil, limits: .init())
    }
    #expect(refusal?.kind == .forbiddenAddress)
    #expect(server.connections == 1)
  }

  @Test func aRedirectIsNotFollowed() throws {
    let elsewhere = Counted()
    let server = Counted(
      "HTTP/1.1 302 Found\r\nLocation: http://localhost:\(elsewhere.port)/\r\nContent-Length: 0\r\n\r\n"
    )
    defer {
      server.end()
      elsewhere.end()
    }
    let url = ForeignURL("http://127.0.0.1:\(server.port)/")
    let client = HTTPClient(userAgent: "test", clock: .still)
    let answer = try client.get(
      .foreign(url, under: Self.loopback), entityTag: nil, limits: .init())
    #expect(answer.status == 302)
    #expect(elsewhere.connections == 0)
  }
}

import Base
import Delivery
import Foundation
import Testing

/// Servers that the client rejects. No notification is lost, and the reason is reported.
@Suite(.serialized) struct APNsTLSTests {
  /// - Returns: the reason for the end of the run, after a few attempts and without a sent
  ///   notification.
  func failure(
    of fake: FakeAPNs, endpoint: APNsEndpoint? = nil, trust: TLSContext? = nil,
    connecting: Duration = .seconds(10), by clock: LimitClock = .still
  ) throws -> APNsConnectionError {
    let limits = testLimits {
      $0.fruitlessConnections = 2
      $0.connecting = connecting
    }
    let sent = try send(
      100, to: fake, limits: limits, by: clock, endpoint: endpoint, trust: trust)
    // One notification was taken from its source and comes back unsent.
    #expect(sent.isComplete(1))
    #expect(sent.count { $0 == .notProcessed } == 1)
    #expect(sent.run.connections == 2)
    guard case .unreachable(let error) = sent.run.end else {
      throw APNsConnectionError.lost(reason: "ended otherwise: \(sent.run.end)")
    }
    return error
  }

  @Test func aCertificateThatNobodyVouchesForIsRefused() throws {
    try withAPNs {
      let error = try failure(of: $0, trust: TLSContext(trusting: nil))
      #expect(error == .untrusted(host: "localhost", reason: "self-signed certificate"))
    } thenLook: { fake, _ in
      let received = try fake.received()
      #expect(received.isEmpty)
    }
  }

  @Test func aCertificateOfAnotherHostIsRefused() throws {
    try withAPNs(host: "api.push.apple.com") {
      let error = try failure(of: $0)
      #expect(error == .untrusted(host: "localhost", reason: "hostname mismatch"))
    }
  }

  @Test func aNameIsNoAddress() throws {
    try withAPNs {
      let error = try failure(of: $0, endpoint: APNsEndpoint(host: "127.0.0.1", port: $0.port))
      #expect(error == .untrusted(host: "127.0.0.1", reason: "IP address mismatch"))
    }
  }

  @Test func anAddressInTheCertificateIsTrusted() throws {
    try withAPNs(host: "127.0.0.1") {
      let sent = try send(5, to: $0, endpoint: APNsEndpoint(host: "127.0.0.1", port: $0.port))
      #expect(sent.run.accepted == 5)
    }
  }

  @Test func aServerWithoutHTTP2IsRefused() throws {
    try withAPNs("alpn http/1.1") {
      let error = try failure(of: $0)
      #expect(error == .noHTTP2($0.endpoint))
    }
  }

  @Test func aServerThatHangsUpIsAnError() throws {
    try withAPNs("tls none") {
      guard case .handshakeFailed = try failure(of: $0) else {
        Issue.record("another error")
        return
      }
    }
  }

  @Test func aPortOnWhichNobodyListensIsAnError() throws {
    var port: UInt16 = 0
    try withAPNs { port = $0.port }
    try withAPNs {
      let endpoint = APNsEndpoint(host: "localhost", port: port)
      let error = try failure(of: $0, endpoint: endpoint)
      #expect(error == .unreachable(endpoint, reason: "Connection refused"))
    }
  }

  @Test func aNameThatNobodyHasIsAnError() throws {
    try withAPNs {
      guard
        case .unresolved("nobody.invalid", _) = try failure(
          of: $0, endpoint: APNsEndpoint(host: "nobody.invalid"))
      else {
        Issue.record("another error")
        return
      }
    }
  }

  /// The kernel's queue accepts the connection, but no program answers.
  @Test func aServerThatDoesNotShakeHandsTakesItsTimeOnly() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        precondition(bind(listener, $0, size) == 0 && listen(listener, 8) == 0)
        getsockname(listener, $0, &size)
      }
    }
    let endpoint = APNsEndpoint(host: "127.0.0.1", port: UInt16(bigEndian: address.sin_port))
    try withAPNs {
      let clock = TestClock()
      clock.run(by: .milliseconds(100))
      let error = try failure(
        of: $0, endpoint: endpoint, connecting: .milliseconds(200), by: clock.limits)
      #expect(error == .timedOut(endpoint))
    }
  }

  @Test func certificatesThatAreNoneAreRefused() {
    for certificates in [
      TLSContext.Certificates.text("-----BEGIN x"), .text(""), .file("/nowhere"),
    ] {
      #expect(throws: APNsConnectionError.noCertificates) {
        try TLSContext(trusting: certificates)
      }
    }
  }
}

import Base
import Foundation
import Store
import Support
import Synchronization
import Testing

@testable import Delivery

/// Addresses that receive messages for browsers, whatever the row contains, and the results that
/// people see.
@Suite struct WebPushAddressTests {
  /// Only a responder that was taken over could write such rows.
  @Test func aMisleadingEndpointInARowIsNotConnectedTo() throws {
    try withBrowsers { browsers in
      let listener = LoopbackListener()!  // a free port
      let connections = Mutex(0)
      listener.begin { descriptor in
        connections.withLock { $0 += 1 }
        close(descriptor)
      }
      defer { listener.end() }
      for endpoint in misleadingEndpoints(port: listener.port) {
        browsers.notify(try browsers.subscribe("a", at: endpoint))
      }
      try browsers.pass()
      let outcomes = browsers.delivery.sql("SELECT DISTINCT state, reason FROM deliveries")
      #expect(outcomes == "dead\tUnknownPushService")
      #expect(connections.withLock { $0 } == 0)
    }
  }

  /// The settings name the host, and its name resolves to this machine.
  @Test func aPushServiceAtAPrivateAddressIsAskedOnlyWhereThatIsAllowed() throws {
    for isAllowed in [false, true] {
      let rule = isAllowed ? TestDelivery.loopback : OutboundRule()
      try withBrowsers(outbound: rule) { browsers in
        let before = browsers.service.requests
        let port = browsers.service.host.split(separator: ":")[1]
        let settings = WebPushSettings(
          vapid: browsers.settings.vapid, services: PushServices(more: ["localhost:\(port)"]),
          certificatesFile: browsers.service.certificatesFile, outbound: rule)
        let named = Browsers(
          delivery: browsers.delivery, service: browsers.service, settings: settings)
        let browser = try named.subscribe("a", at: "https://localhost:\(port)/push/a")
        browsers.service.play(.init(201), for: "a")
        named.notify(browser)
        try named.pass()
        #expect(named.state(of: browser) == (isAllowed ? "delivered 1" : "open NoAnswer 1"))
        #expect(browsers.service.requests - before == (isAllowed ? 1 : 0))
      }
    }
  }

  /// Administrators see the push service's answer; people see what they can do.
  @Test(
    arguments: [
      (201, 201, nil), (202, 201, nil), (302, 400, "HTTP_400"), (400, 400, "HTTP_400"),
      (401, 403, "VapidKeyRefused"), (403, 403, "VapidKeyRefused"), (404, 404, "SubscriptionGone"),
      (410, 410, "SubscriptionGone"), (413, 413, "PayloadTooLarge"), (418, 400, "HTTP_400"),
      (429, 429, "TooManyRequests"), (500, 503, "HTTP_503"), (507, 503, "HTTP_503"),
    ] as [(Int, Int, String?)])
  func peopleAreToldAClassOfTheStatus(status: Int, told: Int, reason: String?) {
    let outcome: WebPushOutcome =
      (200...299).contains(status)
      ? .accepted(status: status) : .refused(status: status, retryAfter: nil)
    #expect(outcome.toldStatus == told)
    #expect(outcome.toldReason == reason)
  }
}

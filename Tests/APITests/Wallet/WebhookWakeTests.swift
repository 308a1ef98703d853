import Foundation
import Support
import Testing

@testable import API

/// Each outcome that a merchant is told of wakes the companion.
@Suite struct WebhookWakeTests {
  /// A socket like the companion's, which counts the calls.
  private final class WakeCounter {
    // The path is short, because the path of a unix socket holds 107 bytes.
    let path = "/tmp/switchboard-wake-\(UUID().uuidString.prefix(8))"
    private let descriptor = socket(
      AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)

    init() throws {
      let status = withAddress(of: path) { bind(descriptor, $0, $1) }
      try #require(status == 0 && listen(descriptor, 64) == 0)
    }

    deinit {
      close(descriptor)
      unlink(path)
    }

    /// The number of calls since the last time.
    func count() -> Int {
      var count = 0
      while case let connection = accept(descriptor, nil, nil), connection >= 0 {
        close(connection)
        count += 1
      }
      return count
    }
  }

  @Test(arguments: [true, false])
  func outcomesWakeItIfTheMerchantIsTold(isTold: Bool) throws {
    try withCheckout { shop in
      let wakes = try WakeCounter()
      let responder = shop.site.sibling(settings: .ofTests(wakeSocket: wakes.path))
      if isTold {
        shop.site.sql("UPDATE merchants SET webhook_url = 'https://a', webhook_secret = 'sealed'")
      }
      let woken = isTold ? 1 : 0
      func post(_ path: String, _ json: String = "") throws -> Answer {
        let answer = responder.send(
          "POST", "/api/merchant/payment/\(path)", json,
          fields: [(name: "x-api-key", value: shop.key)])
        try #require([200, 201].contains(answer.status), "\(path): \(answer.text)")
        return answer
      }
      func request() throws -> String {
        try #require(try post("request", shop.book).string("requestId"))
      }
      let first = try request()
      #expect(wakes.count() == 0)
      _ = try post("\(first)/cancel")
      #expect(wakes.count() == woken)
      _ = try post("\(first)/cancel")
      #expect(wakes.count() == 0, "it was cancelled before")

      let second = try request()
      let cancelled = responder.send(
        "POST", "/api/mobile/payment/\(second)/cancel", token: shop.ann.accessToken)
      #expect(cancelled.status == 200, "\(cancelled.text)")
      #expect(wakes.count() == woken)

      let payment = try shop.begun(shop.approve(try request()))
      #expect(wakes.count() == 0)
      let confirmed = responder.send(
        "POST", "/api/merchant/payment/confirm",
        jsonText([
          "paymentId": payment.id, "deviceId": shop.ann.deviceID,
          "signature": PhoneKey.one.sign(payment),
        ]), token: shop.ann.accessToken)
      #expect(confirmed.status == 200, "\(confirmed.text)")
      #expect(wakes.count() == woken)
      _ = try post("\(payment.id)/refund")
      #expect(wakes.count() == woken)

      _ = try request()
      shop.site.advance(by: .seconds(901))
      #expect(wakes.count() == 0)
      _ = try request()
      #expect(wakes.count() == woken, "the request before has expired")
      #expect(
        shop.site.sql("SELECT COUNT(*) FROM webhooks") == (isTold ? "5" : "0"))
    }
  }
}

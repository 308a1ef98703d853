import Store
import Support
import Synchronization
import Testing

@testable import API

/// Moves of a payment whose connection to the database breaks at each of their statements.
@Suite struct PaymentKillTests {
  enum Move: CaseIterable {
    case request, approve, confirm, payerCancels, merchantCancels, refund, verify
  }

  /// Whatever was lost, the row, the webhook, the audit log and the view agree, and the same call sent again
  /// succeeds and moves nothing twice.
  @Test(arguments: Move.allCases, [MariaDBProxy.Action.cutBefore, .cutAfter])
  func aKilledMoveHappensOnceOrNotAtAll(move: Move, action: MariaDBProxy.Action) throws {
    try withCheckout { shop in
      shop.site.sql(
        "UPDATE merchants SET webhook_url = 'https://shop.example/hook', webhook_secret = 'x'")
      var statement = 0
      var wasCut = true
      while wasCut {
        statement += 1
        try #require(statement < 60)
        let call = try Self.prepare(move, number: statement, at: shop)
        let proxied = Proxied(shop, cutting: statement, by: action)
        _ = call(proxied.application)
        wasCut = proxied.wasCut
        let id = shop.site.sql("SELECT id FROM payments ORDER BY created_at DESC, id LIMIT 1")
        try Self.expectAgreement(of: id, at: shop)
        let repeated = call(shop.site.application)
        #expect([200, 201].contains(repeated.status), "\(move) \(statement): \(repeated.text)")
        try Self.expectAgreement(of: repeated.string("requestId") ?? id, at: shop)
        #expect(shop.site.count("payments WHERE order_id = 'order \(statement)'") == 1)
        shop.site.sql("DELETE FROM rate_limits")
      }
      #expect(statement > 4)
    }
  }

  /// A call of the move that can be sent to any responder, and again.
  private static func prepare(
    _ move: Move, number: Int, at shop: Checkout
  ) throws -> (Application) -> Answer {
    let (merchant, app) = ([(name: "x-api-key", value: shop.key)], shop.ann.accessToken)
    let base = "/api/merchant/payment"
    let order = #"{"amount":5,"currency":"CAD","orderId":"order \#(number)"}"#
    if move == .request {
      let fields = merchant + [(name: "Idempotency-Key", value: "key-\(number)")]
      return { $0.send("POST", "\(base)/request", order, fields: fields) }
    }
    let id = try #require(shop.request(order).string("requestId"))
    let approval = #"{"requestId":"\#(id)"}"#
    if move == .approve {
      return { $0.send("POST", "\(base)/initiate", approval, token: app) }
    }
    let payment = try shop.begun(shop.approve(id))
    let proof = jsonText([
      "requestId": id, "deviceId": shop.ann.deviceID, "signature": PhoneKey.one.sign(payment),
    ])
    switch move {
    case .request, .approve: preconditionFailure("returned above")
    case .confirm: return { $0.send("POST", "\(base)/confirm", proof, token: app) }
    case .payerCancels:
      return { $0.send("POST", "/api/mobile/payment/\(id)/cancel", token: app) }
    case .merchantCancels:
      return { $0.send("POST", "\(base)/\(id)/cancel", fields: merchant) }
    case .refund, .verify:
      let token = try #require(
        shop.site.send("POST", "\(base)/confirm", proof, token: app).string("token"))
      if move == .refund { return { $0.send("POST", "\(base)/\(id)/refund", fields: merchant) } }
      return { $0.send("POST", "\(base)/verify", #"{"token":"\#(token)"}"#, fields: merchant) }
    }
  }

  private static func expectAgreement(of id: String, at shop: Checkout) throws {
    guard !id.isEmpty else { return }
    // One command, because this is asked after each statement of each move.
    let found = shop.site.sql(
      """
      SELECT CONCAT_WS(' ', 'row', IF(cancelled_at IS NULL, NULL, 'cancelled'),
        IF(confirmed_at IS NULL, NULL, 'confirmed'), IF(refunded_at IS NULL, NULL, 'refunded'))
        FROM payments WHERE id = '\(id)';
      SELECT CONCAT_WS(' ', 'row', GROUP_CONCAT(SUBSTRING(event, 9) ORDER BY CAST(event AS CHAR) SEPARATOR ' '))
        FROM webhooks WHERE payment_id = '\(id)';
      SELECT CONCAT_WS(' ', 'row', GROUP_CONCAT(SUBSTRING(event, 9) ORDER BY CAST(event AS CHAR) SEPARATOR ' '))
        FROM audit_log WHERE detail LIKE '\(id)%'
        AND event IN ('payment_cancelled', 'payment_confirmed', 'payment_refunded');
      SELECT status FROM every_payment WHERE payment_id = '\(id)'
      """
    ).split(separator: "\n").map(String.init)
    try #require(found.count == 4, "\(found)")
    #expect(found[1] == found[0], "webhooks")
    #expect(found[2] == found[0], "audit log")
    // The view compares an open payment's expiry with the database's clock, which is years ahead.
    if found[0] != "row" { #expect(shop.state(id).string("status") == found[3]) }
  }
}

/// A responder on the site's database, one of whose commands is cut.
private final class Proxied {
  let application: Application
  private let proxy: MariaDBProxy
  private let state: State
  private let number: Int

  private final class State: Sendable {
    let commands = Mutex(0)
  }

  /// - Parameter number: the command that is cut, from 1.
  init(_ shop: Checkout, cutting number: Int, by action: MariaDBProxy.Action) {
    let state = State()
    self.state = state
    proxy = MariaDBProxy(accountSettings(of: "responder", in: shop.site.root)) { _ in
      state.commands.withLock {
        $0 += 1
        return $0 == number ? action : .pass
      }
    }
    let settings = API.Settings.ofTests()
    application = .ofTests(
      Database(proxy.settings, mailKeys: settings.mailKeys, beginWaiting: { false }),
      settings: settings, log: Evidence.log(of: shop.site.root.database),
      clock: shop.site.clock.read)
    self.number = number
  }

  /// Whether the call had so many commands.
  var wasCut: Bool { state.commands.withLock { $0 } >= number }
}

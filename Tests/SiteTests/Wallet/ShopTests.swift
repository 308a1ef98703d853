import Cryptography
import Foundation
import Support
import Testing

/// The shop that `nginx/run --fakes` starts, `nginx/shop.py`.
@Suite(.serialized) struct ShopTests {
  @Test func theShopShowsTheCodeAndLearnsThatItsMugIsPaid() async throws {
    try await withSite(host: "localhost", hasFakes: true) { site in
      let ann = try site.signUpPayer()
      let order = try site.order()
      let page = site.visit(order.url)
      #expect(page.contains(#"<a href="\#(site.url)/pay/\#(order.requestID)">Pay</a>"#), "\(page)")
      let picture = try #require(page.firstMatch(of: /data:image\/png;base64,([^"]+)/)?.1)
      let code = try qrContents(of: [try #require(Data(base64Encoded: String(picture)))])
      #expect(code == ["\(site.url)/pay/\(order.requestID)#mwsim://payment/\(order.requestID)"])

      try site.pay(order.requestID, by: ann)
      wait(for: "the paid order") { site.isPaid(order) }
      let outcome = """
        SELECT event, state, w.attempts, received_at IS NOT NULL
        FROM webhooks w JOIN payments p ON p.id = w.payment_id
        """
      try wait(for: "the delivered webhook") {
        try site.sql(outcome) == "payment.confirmed\tdelivered\t1\t1\n"
      }
      try site.expectNoShopSecrets()
    }
  }

  /// Scanned from the screen of a phone's width, in a browser without scripts.
  @Test(arguments: ["light", "dark"])
  func thePaymentsPageCanBeScannedFromTheScreen(scheme: String) async throws {
    try await withSite(host: "localhost", hasFakes: true) { site in
      let order = try site.order()
      let browser = try Browser(size: (360, 900))
      try browser.call("Emulation.setScriptExecutionDisabled", ["value": true])
      try browser.call(
        "Emulation.setDeviceMetricsOverride",
        ["width": 360, "height": 900, "deviceScaleFactor": 2, "mobile": true])
      try browser.call(
        "Emulation.setEmulatedMedia",
        ["features": [["name": "prefers-color-scheme", "value": scheme]]])
      let page = "\(site.url)/pay/\(order.requestID)"
      try browser.open(page)
      #expect(
        try qrContents(of: [browser.screenshot()])
          == ["\(page)#mwsim://payment/\(order.requestID)"])
      #expect(browser.parameters(of: "Log.entryAdded").isEmpty)
      for selector in ["img", "dl", "a.button"] {
        let box = try browser.box(of: selector)
        #expect(box[0] >= 0 && box[2] <= 360, "\(selector): \(box)")
      }
    }
  }

  @Test func forgedWebhooksChangeNothing() async throws {
    try await withSite(hasFakes: true) { site in
      let order = try site.order()
      let event =
        #"{"type":"payment.confirmed","timestamp":"2099-01-01T00:00:00Z","data":{"orderId":"#
        + #""\#(order.url.suffix(36))","status":"confirmed"}}"#
      let time = "webhook-timestamp: \(Int(Date().timeIntervalSince1970))"
      let code = Data(repeating: 0, count: 32).base64EncodedString()
      for fields in [[], [time], [time, "webhook-id: 1", "webhook-signature: v1,\(code)"]] {
        let status = Site.run(
          ["curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out"]
            + ["%{http_code}", "--data", event] + fields.flatMap { ["--header", $0] }
            + ["\(try site.shop)/webhook"]
        ).output
        #expect(status == "401")
      }
      #expect(site.visit(order.url).contains("data:image/png"))
      #expect(!site.isPaid(order))
    }
  }

  /// The order was requested twice, and its second payment is confirmed.
  @Test func theExpiryOfAnEarlierRequestLeavesAnOrderPaid() async throws {
    try await withSite(hasFakes: true) { site in
      let ann = try site.signUpPayer()
      let order = try site.order()
      try site.pay(order.requestID, by: ann)
      wait(for: "the paid order") { site.isPaid(order) }
      let event =
        #"{"type":"payment.expired","timestamp":"2026-01-01T00:00:00Z","data":{"requestId":"#
        + #""pay_AAAAAAAAAAAAAAAAAAAAAA","orderId":"\#(order.url.suffix(36))","status":"expired"}}"#
      let status = try site.tellShop(event)
      #expect(status == "200")
      #expect(site.isPaid(order))
    }
  }

  @Test func theConfirmationOfAnEarlierRequestPaysAnOrder() async throws {
    try await withSite(hasFakes: true) { site in
      let order = try site.order()
      let event =
        #"{"type":"payment.confirmed","timestamp":"2026-01-01T00:00:00Z","data":{"requestId":"#
        + #""pay_AAAAAAAAAAAAAAAAAAAAAA","orderId":"\#(order.url.suffix(36))","status":"confirmed"}}"#
      let status = try site.tellShop(event)
      #expect(status == "200")
      #expect(site.isPaid(order))
    }
  }

  /// A start that was killed has not kept a secret that was printed only once.
  @Test(arguments: [(nil, 1), ("webhook-secret", 1), ("api-key", 2)])
  func aSecondStartTakesPaymentsToo(lost file: String?, merchants: Int) async throws {
    try await withSite(hasFakes: true) { site in
      let ann = try site.signUpPayer()
      #expect(site.stop().status == 0)
      if let file { try FileManager.default.removeItem(atPath: "\(site.state)/shop/\(file)") }
      for _ in 1...2 {
        let again = site.start()
        try #require(again.status == 0, "\(again.output)")
        let order = try site.order()
        try site.pay(order.requestID, by: ann)
        wait(for: "the paid order") { site.isPaid(order) }
        #expect(site.stop().status == 0)
      }
      #expect(site.start().status == 0)
      #expect(
        try site.sql(
          "SELECT COUNT(*), SUM(revoked_at IS NULL) FROM merchants WHERE name = 'Test Shop'")
          == "\(merchants)\t1\n")
      try site.expectNoShopSecrets()
    }
  }

  @Test func theShopComesBackWhenItIsKilled() async throws {
    try await withSite(hasFakes: true) { site in
      let ann = try site.signUpPayer()
      let killed = try #require(site.pid(of: "shop"))
      kill(killed, SIGKILL)
      wait(for: "another process of the shop") {
        site.pid(of: "shop").map { $0 != killed } ?? false
      }
      try wait(for: "a page of the shop") { site.visit(try site.shop).contains("Buy a mug") }
      let order = try site.order()
      try site.pay(order.requestID, by: ann)
      wait(for: "the paid order") { site.isPaid(order) }
    }
  }
}

/// An order at the shop.
private struct Order {
  /// Its page.
  let url: String
  let requestID: String
}

extension Site {
  fileprivate var shop: String {
    get throws { "http://127.0.0.1:\(try shopFile("port"))" }
  }

  private func shopFile(_ name: String) throws -> String {
    try String(contentsOfFile: "\(state)/shop/\(name)", encoding: .utf8).trimmed
  }

  fileprivate func visit(_ url: String) -> String {
    Self.run(["curl", "--silent", "--noproxy", "*", url]).output
  }

  /// Presses the button of the shop.
  fileprivate func order() throws -> Order {
    let url = Self.run([
      "curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out",
      "%{redirect_url}", "--data", "", try shop,
    ]).output
    let page = visit(url)
    let id = try #require(page.firstMatch(of: /pay_[A-Za-z0-9_-]{22}/)?.output, "\(url): \(page)")
    return Order(url: url, requestID: String(id))
  }

  /// Sends the shop a webhook, signed as the site does.
  ///
  /// - Returns: the status of the answer.
  fileprivate func tellShop(_ event: String) throws -> String {
    let file = try shopFile("webhook-secret")
    let secret = try #require(base64Decoded(String(file.dropFirst("whsec_".count))))
    let key = try Key(id: "webhook", secret: Secret(copying: secret.span))
    let time = Int(Date().timeIntervalSince1970)
    let code = base64Encoded(hmacSHA256("1.\(time).\(event)", with: key))
    return Self.run([
      "curl", "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out", "%{http_code}",
      "--header", "webhook-id: 1", "--header", "webhook-timestamp: \(time)",
      "--header", "webhook-signature: v1,\(code)", "--data", event, "\(try shop)/webhook",
    ]).output
  }

  fileprivate func isPaid(_ order: Order) -> Bool { visit(order.url).contains("Paid. Thank you.") }

  /// Expects the shop's secrets neither in the database nor in logs nor among the arguments of programs.
  fileprivate func expectNoShopSecrets() throws {
    let arguments = Self.run(["ps", "-ww", "-e", "-o", "args"]).output
    #expect(arguments.contains("shop.py"))
    let places = try Self.logs.map { try log($0) } + [try log("shop"), dump(), arguments]
    for name in ["api-key", "webhook-secret"] {
      let secret = try shopFile(name)
      #expect(secret.wholeMatch(of: /(msk_|whsec_).{40,}/) != nil)
      #expect(places.allSatisfy { !$0.contains(secret) }, "\(name)")
    }
  }
}

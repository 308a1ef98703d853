import Support
import Testing

/// A request for a payment that comes again, or several for one order.
@Suite struct RepeatedPaymentRequestTests {
  @Test func anIdempotencyKeyGivesTheSameAnswer() throws {
    try withCheckout { shop in
      let first = shop.request(shop.book, idempotencyKey: "k-1")
      let id = try #require(first.string("requestId"))
      #expect(shop.request(shop.book, idempotencyKey: "k-1").text == first.text)
      _ = shop.approve(id)
      shop.site.advance(by: .seconds(1000))
      #expect(shop.request(shop.book, idempotencyKey: "k-1").text == first.text)
      let other = shop.request(
        #"{"amount":6,"currency":"CAD","orderId":"book"}"#, idempotencyKey: "k-1")
      #expect(other.isError(422, "idempotency_key_reused"), "\(other.text)")
      let rival = try shop.site.merchants.add("Rival").key
      #expect(
        shop.request(shop.book, idempotencyKey: "k-1", key: rival).string("requestId") != id)
      #expect(shop.request(shop.book, idempotencyKey: "a b").complaint?.isEmpty == false)
      #expect(shop.site.count("payments") == 2)
    }
  }

  @Test func aRepeatedRequestIsNotRefusedForOriginsThatChanged() throws {
    try withCheckout { shop in
      shop.allowReturn(to: "https://shop.example")
      let order = """
        {"amount":5,"currency":"CAD","orderId":"b","returnUrl":"https://shop.example/b"}
        """
      let first = shop.request(order, idempotencyKey: "k")
      #expect(first.status == 201, "\(first.text)")
      shop.allowReturn(to: "https://new.example")
      #expect(shop.request(order, idempotencyKey: "k").text == first.text)
      #expect(
        shop.request(order, idempotencyKey: "other").complaint == "returnUrl: origin_not_allowed")
    }
  }

  @Test func ofManyRequestsForAnOrderOneIsMade() throws {
    try withCheckout { shop in
      let answers = inParallel(32) { _ in shop.request(shop.book) }
      #expect(answers.filter { $0.status == 201 }.count == 1)
      let made = answers.first { $0.status == 201 }?.string("requestId")
      for answer in answers where answer.status != 201 {
        #expect(answer.status == 409)
        #expect(answer.string("error") == "open_order", "\(answer.text)")
        #expect(answer.string("requestId") == made)
      }
      let same = inParallel(32) { _ in
        shop.request(#"{"amount":5,"currency":"CAD","orderId":"pen"}"#, idempotencyKey: "k")
      }
      #expect(Set(same.map(\.text)).count == 1)
      #expect(same[0].status == 201)
      #expect(shop.site.count("payments") == 2)
    }
  }
}

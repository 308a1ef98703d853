/// Payments in a shop.
extension Chooser {
  /// A payment of one of the actor's cards, or a merchant's request.
  mutating func payment(_ known: KnownValues, _ first: Int) -> [WalkCall] {
    guard let key = pick("merchant key", known), let bearer = bearer(known) else { return [] }
    var cards = WalkCall(method: "GET", path: "/api/mobile/wallet/cards")
    cards.fields = [bearer]
    var begin = WalkCall(method: "POST", path: "/api/merchant/payment/initiate")
    begin.fields = [.init(name: "x-api-key", value: key), bearer]
    begin.members = [
      .init(name: "cardId", value: answer(first, "id")),
      .init(name: "amount", value: .json("1.5")), .init(name: "currency", value: .text("CAD")),
    ]
    if isLucky(50) { return request(key: key, bearer: bearer, first) }
    let challenge = answer(first + 1, "challenge")
    var confirm = WalkCall(method: "POST", path: "/api/merchant/payment/confirm")
    confirm.fields = begin.fields
    confirm.members = [.init(name: "paymentId", value: answer(first + 1, "id"))]
    confirm.members +=
      isLucky(50)
      ? [.init(name: "credential", value: asserted(challenge))]
      : [
        .init(name: "deviceId", value: device(known)),
        .init(name: "signature", value: .signature(challenge)),
      ]
    return [cards, begin, confirm]
  }

  /// A merchant's request that is paid, that one side cancels, or that is only shown.
  private mutating func request(
    key: ValueSource, bearer: WalkCall.Item, _ first: Int
  ) -> [WalkCall] {
    let (id, key) = (answer(first, "id"), WalkCall.Item(name: "x-api-key", value: key))
    var request = WalkCall(method: "POST", path: "/api/merchant/payment/request")
    request.fields = [key]
    request.members = [
      .init(name: "amount", value: .json("1.5")), .init(name: "currency", value: .text("CAD")),
      .init(name: "orderId", value: .text("order \(first)")),
    ]
    if isLucky(20) {
      let page = WalkCall(method: "GET", path: "/pay/:requestId", pathItem: id)
      let shown = act("/api/mobile/payment/:requestId", on: id, by: bearer, method: "GET")
      let status = act("/api/merchant/payment/:requestId", on: id, by: key, method: "GET")
      var list = WalkCall(method: "GET", path: "/api/merchant/payments")
      list.fields = [key]
      return [request, page, shown, status, list]
    }
    if isLucky(20) {
      return [request, act("/api/mobile/payment/:requestId/cancel", on: id, by: bearer)]
    }
    if isLucky(25) {
      return [request, act("/api/merchant/payment/:requestId/cancel", on: id, by: key)]
    }
    var approve = act("/api/mobile/payment/:requestId/approve", on: id, by: bearer)
    if isLucky(50) {
      approve = WalkCall(method: "POST", path: "/api/merchant/payment/initiate")
      approve.fields = [bearer]
      approve.members = [.init(name: "requestId", value: id)]
    }
    let challenge = answer(first + 1, "challenge")
    var confirm = WalkCall(method: "POST", path: "/api/merchant/payment/confirm")
    confirm.fields = [bearer]
    confirm.members = [
      .init(name: "paymentId", value: id), .init(name: "credential", value: asserted(challenge)),
    ]
    var verify = WalkCall(method: "POST", path: "/api/merchant/payment/verify")
    verify.fields = [key]
    verify.members = [.init(name: "token", value: answer(first + 2, "token"))]
    let refund = act("/api/merchant/payment/:requestId/refund", on: id, by: key)
    return [request, approve, confirm, isLucky(50) ? verify : refund]
  }

  /// A request about the item `id` of the path.
  private func act(
    _ path: String, on id: ValueSource, by field: WalkCall.Item, method: String = "POST"
  ) -> WalkCall {
    var call = WalkCall(method: method, path: path, pathItem: id)
    call.fields = [field]
    return call
  }
}

import HTTP

/// `GET /.well-known/jwks.json`: the public halves of the keys that sign the statements of payments (RFC
/// 7517 §5). Merchants may keep the answer for five minutes.
func getPaymentKeySet(_ request: Request, in context: borrowing Context) -> Response {
  Response(
    status: 200,
    fields: [
      ("Content-Type", "application/jwk-set+json"), ("Cache-Control", "public, max-age=300"),
    ], body: context.settings.paymentKeys.jwks)
}

extension Endpoint {
  static var getPaymentKeySet: Endpoint {
    Endpoint(API.getPaymentKeySet) {
      Operation(
        "Returns the public keys that verify the statements of payments. Keep them for five minutes.",
        answers: .init(
          status: 200, meaning: "The keys (RFC 7517).", type: "application/jwk-set+json",
          schema: ["keys": .array(of: Schema(types: ["object"]))]))
    }
  }
}

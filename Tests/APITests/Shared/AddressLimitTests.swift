import Support
import Testing

@testable import API

/// Every limit per address counts the networks of an IPv6 caller, not its full address.
@Suite struct AddressLimitTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let limit: String
    let method: String
    let path: String
    let body: String

    init(_ limit: String, _ path: String, _ body: String = "", method: String = "POST") {
      (self.limit, self.method, self.path, self.body) = (limit, method, path, body)
    }

    var testDescription: String { limit }
  }

  private static let device = #""deviceId":"device-2","deviceName":"Phone","platform":"ios""#

  @Test(arguments: [
    Case("device-register", AccountPath.registerDevice, "{\(device)}"),
    Case(
      "sign-up-address", AccountPath.register,
      #"{"email":"bob@example.org","name":"Bob",\#(device)}"#),
    Case("code-address", AccountPath.login, #"{"email":"bob@example.org",\#(device)}"#),
    Case("passkey-start", AccountPath.login, #"{"email":"ann@example.org",\#(device)}"#),
    Case("refresh-dead", AccountPath.refresh, #"{"refreshToken":"garbage"}"#),
    Case("models", "/api/v1/models", method: "GET"),
    Case(
      "attestation-challenge", "/api/app-attestation/challenge",
      #"{"platform":"ios","bundle_id":"\#(ourBundle)"}"#),
    Case(
      "attestation-refused", "/api/app-attestation/verify",
      #"{"attestation_object":"AA==","key_id":"AA==","challenge_id":"x","bundle_id":"\#(ourBundle)"}"#
    ),
    Case("exchange-failed", "/api/auth/exchange", #"{"pairing_token":"garbage"}"#),
    Case("master-key", "/generate-api-key", #"{"user_id":"1","master_key":"wrong"}"#),
  ])
  func anIPv6CallerCountsByItsNetworks(of example: Case) throws {
    try withApplication(agent: TestApplication.agent, attestation: .ofTests()) { site in
      try site.addPasskey(Authenticator(), of: try site.signUp())
      site.sql("DELETE FROM rate_limits")
      let answer = site.send(
        example.method, example.path, example.body, address: "2001:db8:1:2:3:4:5:6")
      #expect(
        site.sql(
          "SELECT subject FROM rate_limits WHERE name = '\(example.limit)' ORDER BY 1")
          == "2001:db8:1:2::/64\n2001:db8:1::/48", "\(answer.text)")
    }
  }
}

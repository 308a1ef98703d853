import Cryptography
import Support
import Testing

@testable import API

/// A network uses up every limit per address; a phone there that sends its credential can still
/// sign in.
@Suite struct SharedNetworkTests {
  struct Flood: Sendable, CustomTestStringConvertible {
    let name: String
    let path: String
    let allowed: Int
    /// The body of the request with a number.
    let body: @Sendable (Int) -> String

    var testDescription: String { name }
  }

  private static let phone = #""deviceName":"Phone","platform":"ios""#

  private static let floods = [
    Flood(name: "sign-ups", path: AccountPath.register, allowed: 20) { number in
      #"{"email":"s\#(number)@example.org","name":"S","deviceId":"s\#(number)",\#(phone)}"#
    },
    Flood(name: "codes", path: AccountPath.login, allowed: 20) { number in
      #"{"email":"p\#(number)@example.org","deviceId":"p\#(number)",\#(phone)}"#
    },
    Flood(name: "wrong codes", path: AccountPath.verify, allowed: 100) { number in
      #"{"email":"p\#(number)@example.org","deviceId":"p\#(number)","code":"000000"}"#
    },
    Flood(name: "wrong signatures", path: AccountPath.biometricVerify, allowed: 100) { _ in
      #"{"deviceId":"device-1","signature":"AA==","challenge":"AA=="}"#
    },
    Flood(name: "challenges", path: AccountPath.challenge, allowed: 10) { _ in
      #"{"deviceId":"device-1"}"#
    },
    Flood(name: "passkeys", path: AccountPath.login, allowed: 20) { number in
      #"{"email":"bob@example.org","deviceId":"p\#(number)",\#(phone)}"#
    },
    Flood(name: "dead refreshes", path: AccountPath.refresh, allowed: 30) { _ in
      #"{"refreshToken":"garbage"}"#
    },
    Flood(name: "master keys", path: "/generate-api-key", allowed: 10) { _ in
      #"{"user_id":"1","master_key":"wrong"}"#
    },
    Flood(name: "exchanges", path: "/api/auth/exchange", allowed: 10) { _ in
      #"{"pairing_token":"garbage"}"#
    },
  ]

  /// - Parameter address: returns the address for the request with a number.
  private func flood(
    _ site: TestApplication, _ floods: [Flood], from address: (Int) -> String
  ) {
    for flood in floods {
      let statuses = (1...flood.allowed + 5).map { number in
        site.send("POST", flood.path, flood.body(number), address: address(number)).status
      }
      #expect(!statuses.prefix(flood.allowed).contains(429), "\(flood.name)")
      #expect(
        statuses.suffix(5) == [429, 429, 429, 429, 429], "\(flood.name) \(statuses.suffix(6))")
    }
  }

  @Test(arguments: ["192.0.2.1", "2001:db8:1:2::"])
  func aKnownPhoneSignsInFromANetworkThatHasUsedUpItsLimits(network: String) throws {
    try withApplication(agent: TestApplication.agent) { site in
      let credential = try site.registerDevice(address: "198.51.100.1")
      let ann = try site.signUp(credential: credential, address: "198.51.100.1")
      _ = try site.setUp(of: ann)
      try site.addPasskey(
        Authenticator(),
        of: try site.signUp(email: "bob@example.org", device: "device-9", address: "198.51.100.2"))
      site.sql("DELETE FROM rate_limits")
      let isIPv6 = network.contains(":")
      flood(site, Self.floods) { isIPv6 ? "\(network)\(String($0, radix: 16))" : network }

      let here = isIPv6 ? "\(network)ffff" : network
      let key = try site.signIn(with: .one, credential: credential, address: here)
      #expect(key.status == 200, "\(key.text)")
      let asked = site.requestCode(credential: credential, address: here)
      #expect(asked.status == 200, "\(asked.text)")
      let verified = site.verify(
        code: try site.mailedCode(), credential: credential, address: here)
      #expect(verified.status == 200, "\(verified.text)")
      let refreshed = site.refresh(try #require(verified.refreshToken), address: here)
      #expect(refreshed.status == 200, "\(refreshed.text)")
      let token = try #require(refreshed.accessToken)
      #expect(site.summary(token, credential: credential, address: here).status == 200)
      let options = site.send(
        "POST", AccountPath.passkeyOptions, token: token,
        fields: [("X-Device-Credential", credential)], address: here)
      #expect(options.status == 200, "\(options.text)")
    }
  }

  /// `SWITCHBOARD_ROUNDS=10000` sends 10000 requests.
  @Test(arguments: ["192.0.2.1", "2001:db8:1:2::"])
  func refusedRequestsLeaveAtMost600AuditRowsAnHour(network: String) throws {
    try withApplication { site in
      let count = max(rounds(default: 0), 700)
      for number in 1...count {
        let address = network.contains(":") ? "\(network)\(String(number, radix: 16))" : network
        let answer = site.requestCode(credential: "garbage", address: address)
        #expect(answer.status == 401)
      }
      #expect(site.count("audit_log") == 600)
      #expect(
        site.sql("SELECT MAX(hits) FROM rate_limits WHERE name = 'audit-credential_refused'")
          == "\(count)")
      site.advance(by: .seconds(3600))
      _ = site.requestCode(
        credential: "garbage", address: network + (network.contains(":") ? "1" : ""))
      #expect(site.count("audit_log") == 601)
    }
  }
}

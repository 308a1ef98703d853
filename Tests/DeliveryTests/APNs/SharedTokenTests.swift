import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The replacement of the provider token that all processes share.
@Suite struct SharedTokenTests {
  private func tokens(
    _ delivery: TestDelivery, key: String = testPrivateKey
  ) throws -> SharedProviderTokens {
    SharedProviderTokens(
      database: delivery.companionDatabase,
      settings: APNsSettings(
        keyID: "KEY1234567", teamID: "TEAM123456", topic: "com.example.app",
        key: try P256PrivateKey(pem: key), environment: .production,
        endpoint: APNsEndpoint(host: "127.0.0.1", port: 9), otherEndpoint: nil,
        trust: try TLSContext(trusting: nil), testConcurrency: 4,
        retries: APNsRetries(delay: .seconds(900))),
      sealingKeys: TestDelivery.keys)
  }

  private func move(_ delivery: TestDelivery, _ span: String) {
    delivery.sql("UPDATE provider_tokens SET issued_at = issued_at \(span)")
  }

  @Test func aTokenIsKeptForFiftyMinutes() throws {
    try withDelivery { delivery throws in
      let tokens = try tokens(delivery)
      let first = try tokens.currentToken(insteadOf: nil)
      move(delivery, "- INTERVAL 49 MINUTE")
      #expect(try tokens.currentToken(insteadOf: nil) == first)
      move(delivery, "- INTERVAL 1 MINUTE")
      #expect(try tokens.currentToken(insteadOf: nil) != first)
    }
  }

  /// The clock was set back after the token was issued.
  @Test(arguments: [("1 MINUTE", true), ("1 HOUR", true), ("5 SECOND", false)])
  func aTokenOfTheFutureIsReplaced(ahead: String, isReplaced: Bool) throws {
    try withDelivery { delivery throws in
      let tokens = try tokens(delivery)
      let first = try tokens.currentToken(insteadOf: nil)
      delivery.sql("UPDATE provider_tokens SET issued_at = UTC_TIMESTAMP(3) + INTERVAL \(ahead)")
      let second = try tokens.currentToken(insteadOf: nil)
      #expect((second != first) == isReplaced)
      #expect(try tokens.currentToken(insteadOf: nil) == second)
    }
  }

  /// The token is not replaced at once, because two hosts may have different keys.
  @Test func aTokenThatAnotherKeySignedIsReplacedAfterAMinute() throws {
    try withDelivery { delivery throws in
      let other = runProgram(
        "openssl", ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
      let foreign = try tokens(delivery, key: other.output).currentToken(insteadOf: nil)
      let tokens = try tokens(delivery)
      move(delivery, "- INTERVAL 50 SECOND")
      #expect(try tokens.currentToken(insteadOf: nil) == foreign)
      move(delivery, "- INTERVAL 10 SECOND")
      let own = try tokens.currentToken(insteadOf: nil)
      #expect(own != foreign)
      #expect(
        ProviderToken.isSigned(own, by: try P256PrivateKey(pem: testPrivateKey).publicKey()))
    }
  }
}

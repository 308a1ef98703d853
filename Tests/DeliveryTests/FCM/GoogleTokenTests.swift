import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import Delivery

/// The access token that all companions share.
@Suite struct GoogleTokenTests {
  private func tokens(
    _ delivery: TestDelivery, _ fake: FakeFCM, _ change: FCMSettings? = nil
  ) throws -> GoogleTokens {
    GoogleTokens(
      database: delivery.companionDatabase, settings: try change ?? fake.settings(),
      sealingKeys: TestDelivery.keys, clock: .still)
  }

  @Test func ofSeveralCompanionsOneExchanges() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        let companions = try (1...6).map { _ in try tokens(delivery, fake) }
        let got = try atOnce(companions.map { tokens in { try tokens.current(insteadOf: nil) } })
        #expect(Set(got).count == 1)
        #expect(fake.exchanges == 1)
      }
    }
  }

  @Test func ofSeveralThatWereRefusedOneRenews() throws {
    try withDelivery { delivery throws in
      try withFCM { fake throws in
        let old = try tokens(delivery, fake).current(insteadOf: nil)
        let companions = try (1...6).map { _ in try tokens(delivery, fake) }
        let got = try atOnce(companions.map { tokens in { try tokens.current(insteadOf: old) } })
        #expect(Set(got).count == 1)
        #expect(got[0] != old)
        #expect(fake.exchanges == 2)
      }
    }
  }

  @Test func aTokenThatSoonEndsOrNobodyCanOpenIsReplaced() throws {
    for change in [
      "expires_at = UTC_TIMESTAMP(3) + INTERVAL 4 MINUTE", "sealed = 'box:k9.AAAA'",
      "expires_at = UTC_TIMESTAMP(3) + INTERVAL 5 HOUR",
    ] {
      try withDelivery { delivery throws in
        try withFCM { fake throws in
          let first = try tokens(delivery, fake).current(insteadOf: nil)
          delivery.sql("UPDATE fcm_access_tokens SET \(change)")
          #expect(try tokens(delivery, fake).current(insteadOf: nil) != first)
          #expect(fake.exchanges == 2)
        }
      }
    }
  }

  /// The fake refuses like Google; otherwise the other tests would prove nothing.
  @Test func wrongAssertionsAreRefused() throws {
    try withFCM { fake throws in
      let right = try fake.settings()
      let wrong = try [
        FCMSettings(
          project: right.project, account: "other@example.org", keyID: right.keyID,
          key: right.key, tokenURL: right.tokenURL),
        FCMSettings(
          project: right.project, account: right.account, keyID: "other", key: right.key,
          tokenURL: right.tokenURL),
        FCMSettings(
          project: right.project, account: right.account, keyID: right.keyID,
          key: RSAPrivateKey(pem: FakeFCM().privateKey), tokenURL: right.tokenURL),
        // Another name of the same host is another audience.
        fake.settings(tokenURL: right.tokenURL.replacing("127.0.0.1", with: "localhost")),
      ]
      for settings in wrong {
        try withDelivery { delivery throws in
          _ = #expect(throws: GoogleTokenError.self) {
            try tokens(delivery, fake, settings).current(insteadOf: nil)
          }
        }
      }
      #expect(fake.exchanges == wrong.count)
    }
  }
}

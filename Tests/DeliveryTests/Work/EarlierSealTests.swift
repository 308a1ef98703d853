import Cryptography
import Store
import Testing

@testable import Delivery

/// Databases with values that an earlier version sealed with the credential keys.
@Suite(.serialized) struct EarlierSealTests {
  private static let both = CompanionKeys(TestDelivery.boxKeys, earlier: TestDelivery.keyring)

  /// Requests a code, and seals its mail like an earlier version.
  private func requestCodeOfAnEarlierVersion(_ delivery: TestDelivery) throws {
    let context = Mail.sealingContext(try delivery.requestCode("012345"))
    let content = try open(
      delivery.sql("SELECT sealed FROM outbox"), authenticating: context,
      with: TestDelivery.boxKeys)
    let sealed = seal(content, authenticating: context, with: TestDelivery.keyring)
    delivery.sql("UPDATE outbox SET sealed = '\(sealed)'")
  }

  /// Connects a bank with a secret that an earlier version sealed.
  private func connectBankOfAnEarlierVersion(_ delivery: TestDelivery) {
    let sealed = seal(
      Array("secret".utf8), authenticating: BankConnection.sealingContext(ofSecret: "bank-1"),
      with: TestDelivery.keyring)
    delivery.sql(
      """
      INSERT INTO banks (bsim_id, name, authorization_url, token_url, cards_url, client_id,
        client_secret, scope)
      VALUES ('bank-1', 'Bank', 'https://b.example/a', 'https://b.example/t',
        'https://b.example/c', 'id', '\(sealed)', 'openid')
      """)
  }

  private func faults(_ companion: Companion) -> [String] {
    companion.check().filter(\.isFault).map(\.description)
  }

  @Test func aPassWithTheEarlierKeysWorksOffMailsAndBanks() throws {
    try withDelivery { delivery throws in
      try requestCodeOfAnEarlierVersion(delivery)
      connectBankOfAnEarlierVersion(delivery)
      let companion = delivery.companion(mailer: .directory(delivery.folder), keys: Self.both)
      #expect(
        faults(companion) == [
          "FAULT  values still sealed with the credential keys: 2. Give the companion "
            + "SWITCHBOARD_CREDENTIAL_KEYS until there are none: see upgrade.md"
        ])
      try companion.pass()
      #expect(delivery.sql("SELECT state FROM outbox") == "delivered")
      let mail = try delivery.text(try #require(try delivery.files.first))
      #expect(mail.contains("\n\nYour sign-in code is 012345\n\n"))
      let secret = try open(
        delivery.sql("SELECT client_secret FROM banks"),
        authenticating: BankConnection.sealingContext(ofSecret: "bank-1"),
        with: TestDelivery.boxKeys)
      #expect(secret == Array("secret".utf8))
      #expect(faults(companion) == [])
    }
  }

  @Test func withoutTheEarlierKeysTheMailWaitsForThemAndTheBanksSecretStays() throws {
    try withDelivery { delivery throws in
      try requestCodeOfAnEarlierVersion(delivery)
      connectBankOfAnEarlierVersion(delivery)
      let before = delivery.sql("SELECT client_secret FROM banks")
      let companion = delivery.companion(mailer: .directory(delivery.folder))
      try companion.pass()
      #expect(
        delivery.sql("SELECT state, reason FROM outbox")
          == "open\tan earlier version sealed it: the companion needs SWITCHBOARD_CREDENTIAL_KEYS")
      #expect(delivery.sql("SELECT client_secret FROM banks") == before)
      #expect(faults(companion).count == 1)

      delivery.sql("UPDATE outbox SET due_at = UTC_TIMESTAMP(3)")
      try delivery.companion(mailer: .directory(delivery.folder), keys: Self.both).pass()
      #expect(delivery.sql("SELECT state FROM outbox") == "delivered")
      #expect(delivery.sql("SELECT client_secret LIKE 'box:c1.%' FROM banks") == "1")
    }
  }

  @Test func aProviderTokenOfAnEarlierVersionIsUsedUntilItIsReplaced() throws {
    try withDelivery { delivery throws in
      try withAPNs { fake throws in
        func tokens(_ keys: CompanionKeys) throws -> SharedProviderTokens {
          SharedProviderTokens(
            database: delivery.companionDatabase, settings: try fake.settings(), sealingKeys: keys)
        }
        let settings = try fake.settings()
        let context = "provider token \(settings.teamID) \(settings.keyID)"
        let first = try tokens(Self.both).currentToken(insteadOf: nil)
        let sealed = seal(
          Array(first.utf8), authenticating: context, with: TestDelivery.keyring)
        delivery.sql("UPDATE provider_tokens SET sealed = '\(sealed)'")
        #expect(try tokens(Self.both).currentToken(insteadOf: nil) == first)
        #expect(faults(delivery.companion(mailer: .directory(delivery.folder))).count == 1)
        delivery.sql("UPDATE provider_tokens SET issued_at = issued_at - INTERVAL 51 MINUTE")
        #expect(faults(delivery.companion(mailer: .directory(delivery.folder))) == [])
        #expect(try tokens(Self.both).currentToken(insteadOf: nil) != first)
        #expect(delivery.sql("SELECT sealed LIKE 'box:c1.%' FROM provider_tokens") == "1")
      }
    }
  }

  /// The earlier keys only open values; new values are sealed with the new keys.
  @Test func theEarlierKeysSealNothing() throws {
    let sealed = Self.both.seal([1], authenticating: "a")
    #expect(throws: CryptographyError.unknownKey) {
      try open(sealed, authenticating: "a", with: TestDelivery.keyring)
    }
    #expect(try TestDelivery.keys.open(sealed, authenticating: "a") == [1])
  }
}

import Base
import Cryptography
import ProcessSupport
import SharedSettings
import Store
import Testing

@testable import API
@testable import switchboard_responder

/// The responder cannot open values that it seals for the companion.
@Suite struct WallTests {
  /// The settings of a responder with only the variables of its systemd unit.
  private func settings() throws -> API.Settings {
    var environment = ProcessSupport.Environment(requiredVariables)
    let settings = API.Settings(from: &environment)
    return try #require(settings)
  }

  @Test func noKeyOfTheResponderOpensWhatItSealedForTheCompanion() throws {
    let settings = try settings()
    let sealed = seal([1, 2, 3], authenticating: "mail 1", for: settings.companionKeys)
    for keys in [settings.jwtKeys, settings.hmacKeys, settings.credentialKeys] {
      #expect(throws: CryptographyError.unknownKey) {
        try open(sealed, authenticating: "mail 1", with: keys)
      }
    }
    // Private keys with the same id and the bytes of each key file, and of the public keys
    // themselves.
    let files = requiredVariables.filter { $0.key.hasSuffix("KEYS") }.values
    #expect(files.count == 5)
    for text in files {
      let bytes = try #require(text.split(separator: ":").last)
      let keys = try BoxKeys(parsing: "c1:\(bytes)")
      #expect(throws: CryptographyError.unauthentic) {
        try open(sealed, authenticating: "mail 1", with: keys)
      }
    }
    #expect(try open(sealed, authenticating: "mail 1", with: TestApplication.boxKeys) == [1, 2, 3])
  }

  @Test func noKeyOfTheResponderOpensAMailOrWhatABankSends() throws {
    try withBank { site, ann, _ throws in
      _ = try site.startEnrollment(by: ann)
      _ = site.send(
        "POST", AccountPath.login, jsonText(["email": ann.email, "deviceId": "device-1"]))
      let values = [
        (
          "mail " + site.sql("SELECT id FROM outbox ORDER BY created_at DESC LIMIT 1"),
          site.sql("SELECT sealed FROM outbox ORDER BY created_at DESC LIMIT 1")
        ),
        (
          NewEnrollment.sealingContext(ofVerifier: site.sql("SELECT id FROM enrollment_states")),
          site.sql("SELECT verifier FROM enrollment_states")
        ),
        (
          BankConnection.sealingContext(ofSecret: "test-bank"),
          site.sql("SELECT client_secret FROM banks")
        ),
      ]
      for (context, sealed) in values {
        #expect(throws: CryptographyError.unknownKey, "\(context)") {
          try open(sealed, authenticating: context, with: TestApplication.keys)
        }
        #expect(
          try !open(sealed, authenticating: context, with: TestApplication.boxKeys).isEmpty)
      }
    }
  }

  @Test func withoutThePublicKeysThereAreNoSettings() {
    var environment = ProcessSupport.Environment(
      requiredVariables.filter { $0.key != "SWITCHBOARD_COMPANION_PUBLIC_KEYS" })
    #expect(API.Settings(from: &environment) == nil)
    #expect(
      environment.complaints == [
        "SWITCHBOARD_COMPANION_PUBLIC_KEYS is missing (or SWITCHBOARD_COMPANION_PUBLIC_KEYS_FILE): "
          + "the public keys that seal mails for the companion."
      ])
  }

  /// The sizes are those of `outbox.sealed`, `banks.client_secret` and `enrollment_states.verifier`.
  @Test func theLongestValuesFitTheirColumns() throws {
    let id = String(repeating: "k", count: 32)
    let keys = try BoxKeys(parsing: "\(id):\(base64URLEncoded([UInt8](repeating: 8, count: 32)))")
    let mail = MailContent(
      secret: String(repeating: "s", count: 120), language: .english,
      device: String(repeating: "\u{1}", count: 100), address: String(repeating: "a", count: 45),
      at: Timestamp(milliseconds: .max))
    let contents = [
      (mail.json, 1000), (Array(repeating: 0x78, count: 500), 1000),
      (Array(repeating: 0x78, count: 43), 300),
    ]
    for (content, limit) in contents {
      #expect(
        seal(content, authenticating: "", for: keys.publicKeys).unicodeScalars.count <= limit)
    }
  }
}

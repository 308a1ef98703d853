import Cryptography
import Support
import Testing

@testable import API

/// A phone that is registered and not signed in, while a neighbor in its network uses its id.
@Suite struct PendingRegistrationTests {
  private static let neighbor = "eve@example.org"

  /// A site where Ann's phone waits for its sign-up, with its push token.
  private func withPhone(
    _ body: (_ site: TestApplication, _ credential: String) throws -> Void
  ) throws {
    try withApplication { site in
      let credential = try site.registerDevice(
        name: "Ann's phone", pushToken: pushTokenText("a"))
      try body(site, credential)
    }
  }

  private func owner(_ site: TestApplication) -> String {
    site.sql(
      """
      SELECT a.email FROM push_tokens t JOIN devices d ON d.id = t.device_id
      JOIN accounts a ON a.id = d.account_id WHERE t.token = '\(pushTokenText("a"))'
      """)
  }

  enum Deed: CaseIterable {
    case signUp, signUpAndRevocation, fiveSignUps, registration, registrationAndSignUp, codeSignIn
  }

  private func perform(_ deed: Deed, at site: TestApplication) throws {
    switch deed {
    case .signUp: _ = try site.signUp(email: Self.neighbor, isProven: false)
    case .signUpAndRevocation:
      let eve = try site.signUp(email: Self.neighbor, isProven: false)
      let revoked = site.send(
        "DELETE", "\(AccountPath.devices)/device-1", token: eve.accessToken)
      #expect(revoked.status == 200)
    case .fiveSignUps:
      for number in 1...5 {
        _ = try site.signUp(email: "eve\(number)@example.org", isProven: false)
      }
    case .registration: try site.registerDevice(pushToken: pushTokenText("e"))
    case .registrationAndSignUp:
      let other = try site.registerDevice(pushToken: pushTokenText("e"))
      _ = try site.signUp(email: Self.neighbor, credential: other, isProven: false)
    case .codeSignIn:
      _ = try site.signUp(email: Self.neighbor, device: "device-9")
      _ = try site.signIn(Self.neighbor)
    }
  }

  @Test(arguments: Deed.allCases)
  func itsOwnSignUpGetsWhatIsItsOwn(deed: Deed) throws {
    try withPhone { site, credential throws in
      try perform(deed, at: site)
      #expect(owner(site) == "")
      let hash = hexEncoded(sha256(credential))
      #expect(
        site.count("device_registrations WHERE LOWER(HEX(credential_hash)) = '\(hash)'") == 1)
      let ann = try site.signUp(credential: credential, isProven: false)
      #expect(site.summary(ann.accessToken, credential: credential).status == 200)
      #expect(owner(site) == "ann@example.org")
      #expect(
        site.count(
          "devices WHERE credential_trusted_at IS NOT NULL AND LOWER(HEX(credential_hash)) = '\(hash)'"
        ) == 1)
    }
  }

  /// The device of a sign-up without the credential has none that is trusted, whatever it does next.
  @Test func aSignUpWithoutTheCredentialGetsNoTrustedOne() throws {
    try withPhone { site, _ throws in
      let eve = try site.signUp(email: Self.neighbor, isProven: false)
      let registered = site.send(
        "POST", AccountPath.registerDevice,
        jsonText(["deviceId": "device-1", "deviceName": "Mine", "platform": "ios"]),
        token: eve.accessToken)
      let credential = try #require(registered.string("deviceCredential"))
      #expect(site.count("devices WHERE credential_trusted_at IS NOT NULL") == 0)
      #expect(site.isNoProof(credential, of: eve.accessToken))
      #expect(owner(site) == "")
      #expect(site.count("device_registrations") == 1)
    }
  }

  /// A device keeps its own push token when it shows the credential of its registration later.
  @Test func aPendingPushTokenReplacesNone() throws {
    try withPhone { site, credential throws in
      let ann = try site.signUp(isProven: false)
      let set = site.send(
        "POST", AccountPath.pushToken, jsonText(["pushToken": pushTokenText("b")]),
        token: ann.accessToken)
      #expect(set.status == 200)
      let registered = site.send(
        "POST", AccountPath.registerDevice,
        jsonText(["deviceId": "device-1", "deviceName": "Phone", "platform": "ios"]),
        token: ann.accessToken, fields: [("X-Device-Credential", credential)])
      #expect(registered.status == 200)
      #expect(site.sql("SELECT token FROM push_tokens") == pushTokenText("b"))
    }
  }
}

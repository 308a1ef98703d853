import Support
import Testing

@testable import API

/// The rights of a session depend only on how it began, not on later actions. The manual's page on
/// security has the table.
@Suite struct StolenBearerTests {
  /// Actions that need a proof.
  enum Deed: CaseIterable {
    case passkey, address, deletion, removedPasskey, foreignKey, allKeys
  }

  /// The beginning of the session that tries an action.
  enum Beginning: String, CaseIterable {
    case signUp = "sign_up"
    case code, passkey
    case trustedKey = "trusted_key"
    case untrustedKey = "untrusted_key"
  }

  /// Ann has a passkey and a trusted key on `device-1`, and is also signed in on `device-2`.
  private struct Owner {
    let ann: SignedIn
    let authenticator = Authenticator()

    init(_ site: TestApplication) throws {
      _ = try site.signUp(device: "device-2")
      ann = try site.signIn()
      try site.addPasskey(authenticator, of: ann)
      _ = try site.setUp(of: ann)
    }

    func onTablet(at site: TestApplication) throws -> SignedIn {
      let answer = try site.signInByCode(on: "device-2")
      return SignedIn(
        email: ann.email, deviceID: "device-2", accountID: ann.accountID,
        accessToken: try #require(answer.accessToken), refreshToken: "")
    }

    /// A new session of `device-1`.
    func session(_ beginning: Beginning, at site: TestApplication) throws -> String {
      let answer: Answer
      switch beginning {
      case .signUp:
        site.sql("UPDATE sessions SET began_by = 'sign_up', proved_at = created_at")
        return ann.accessToken
      case .code: answer = try site.signInByCode()
      case .passkey: answer = try site.signIn(with: authenticator)
      case .trustedKey: answer = try site.signIn(with: .one)
      case .untrustedKey:
        site.sql("UPDATE biometric_keys SET trusted_at = enrolled_at + INTERVAL 1 DAY")
        answer = try site.signIn(with: .one)
      }
      return try #require(answer.accessToken, "\(answer.text)")
    }
  }

  /// Tries an action that needs a proof.
  private func attempt(_ deed: Deed, _ token: String, at site: TestApplication) -> Answer {
    let passkey = site.sql("SELECT id FROM passkeys")
    return switch deed {
    case .passkey: site.send("POST", AccountPath.passkeyOptions, token: token)
    case .address:
      site.send("PUT", AccountPath.profile, #"{"email":"eve@example.org"}"#, token: token)
    case .deletion: site.send("DELETE", AccountPath.account, token: token)
    case .removedPasskey: site.send("DELETE", AccountPath.passkeys + "/" + passkey, token: token)
    case .foreignKey:
      site.send(
        "DELETE", "/api/mobile/auth/biometric", token: token, query: "deviceId=device-2")
    case .allKeys:
      site.send(
        "POST", AccountPath.logout, token: token, query: "revokeAll=true&authenticators=true")
    }
  }

  @Test(arguments: Beginning.allCases, Deed.allCases)
  func theBeginningDecides(beginning: Beginning, deed: Deed) throws {
    try withApplication { site in
      let token = try Owner(site).session(beginning, at: site)
      #expect(
        site.sql(
          """
          SELECT s.began_by FROM sessions s JOIN devices d ON d.id = s.device_id
          WHERE d.client_device_id = 'device-1' AND s.ended_at IS NULL
          """) == beginning.rawValue)
      let isProof = beginning != .signUp && beginning != .untrustedKey
      func rows() -> String {
        site.rows("accounts", "passkeys", "biometric_keys", "address_changes", "sessions")
      }
      let before = rows()
      let answer = attempt(deed, token, at: site)
      if isProof {
        #expect(answer.status == 200, "\(answer.text)")
      } else {
        #expect(answer.isError(403, "fresh_proof_required"), "\(answer.text)")
        #expect(rows() == before)
      }
      guard isProof, [.passkey, .address, .foreignKey].contains(deed) else { return }
      site.advance(by: .seconds(600))
      #expect(attempt(deed, token, at: site).isError(403, "fresh_proof_required"))
    }
  }

  /// Six allowed calls once led together to control of the account.
  @Test func removingKeysMakesNoSignUpOfASession() throws {
    try withApplication { site in
      let owner = try Owner(site)
      site.advance(by: .seconds(3000))
      let thief = owner.ann.accessToken
      #expect(attempt(.removedPasskey, thief, at: site).status == 403)
      let removed = site.send("DELETE", "/api/mobile/auth/biometric", token: thief)
      #expect(removed.status == 200, "the app's switch in Settings")
      site.sql("DELETE FROM passkeys")
      _ = try site.setUp(.two, of: owner.ann)
      let token = try #require(try site.signIn(with: .two).accessToken)
      #expect(site.send("DELETE", "/api/mobile/auth/biometric", token: token).status == 200)
      for deed in Deed.allCases where deed != .removedPasskey {
        #expect(attempt(deed, token, at: site).isError(403, "fresh_proof_required"), "\(deed)")
      }
      let registered = site.send(
        "POST", AccountPath.registerDevice,
        jsonText(["deviceId": "device-1", "deviceName": "Phone", "platform": "ios"]), token: token)
      #expect(registered.status == 200)
      #expect(site.count("devices WHERE credential_trusted_at IS NOT NULL") == 0)
    }
  }

  /// A key that a thief set up is no proof, even after a day.
  @Test func aKeyOfABearerAloneNeverIsAProof() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(700))
      _ = try site.setUp(of: ann)
      site.advance(by: .seconds(2 * 86_400))
      let token = try #require(try site.signIn(with: .one).accessToken)
      for deed in [Deed.passkey, .address, .deletion, .allKeys] {
        #expect(attempt(deed, token, at: site).isError(403, "fresh_proof_required"), "\(deed)")
      }
    }
  }

  /// A sign-up lets its session add only one key, even if that key is gone.
  @Test func aSignUpAddsOneKeyOnly() throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      let begun = try #require(site.passkeyOptions(of: ann).string("challenge"))
      _ = try site.setUp(of: ann)
      #expect(
        site.send("DELETE", "/api/mobile/auth/biometric", token: ann.accessToken).status == 200)
      #expect(site.passkeyOptions(of: ann).isError(403, "fresh_proof_required"))
      let late = site.register(Authenticator().created(answering: begun), of: ann)
      #expect(late.isError(403, "fresh_proof_required"), "\(late.text)")
      _ = try site.setUp(.two, of: ann)
      #expect(site.count("biometric_keys WHERE trusted_at = enrolled_at") == 0)
      #expect(site.count("passkeys") == 0)
    }
  }

  @Test func oneOfManyParallelSetUpsUsesTheSignUp() throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      let begun = try #require(site.passkeyOptions(of: ann).string("challenge"))
      let statuses = inParallel(8) { number in
        number % 2 == 0
          ? site.register(Authenticator().created(answering: begun), of: ann).status
          : site.send(
            "POST", AccountPath.setup,
            jsonText([
              "deviceId": ann.deviceID, "publicKey": PhoneKey.one.publicKey,
              "biometricType": "face",
            ]), token: ann.accessToken
          ).status
      }
      #expect(statuses.contains(200))
      let trusted = site.count("biometric_keys WHERE trusted_at = enrolled_at")
      #expect(site.count("passkeys") + trusted == 1)
    }
  }

  // A neighbour's credential ---------------------------------------------------------------------------

  /// A stranger in the owner's network registers the owner's device id. The owner signs in without
  /// a credential, like the app.
  private func withNeighbour(
    _ body: (_ site: TestApplication, _ ann: SignedIn, _ stranger: String) throws -> Void
  ) throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-2")
      let old = try site.signIn()
      let stranger = try site.registerDevice(name: "Phone")
      let ann = try site.signIn()
      #expect(site.summary(old.accessToken).status == 401)
      try body(site, ann, stranger)
    }
  }

  private func show(
    _ credential: String, _ method: String, _ path: String, _ body: String = "",
    token: String? = nil, at site: TestApplication
  ) -> Answer {
    site.send(
      method, path, body, token: token,
      fields: [(name: "X-Device-Credential", value: credential)])
  }

  @Test func aNeighboursCredentialOpensNothing() throws {
    try withNeighbour { site, ann, stranger throws in
      let before = site.rows("devices", "push_tokens")
      for wait in [0, 700, 86_400, 30 * 86_400] {
        site.advance(by: .seconds(Int64(wait)))
        let renamed = show(
          stranger, "POST", AccountPath.registerDevice,
          jsonText([
            "deviceId": "device-1", "deviceName": "Mine", "platform": "ios",
            "pushToken": pushTokenText("e"),
          ]), at: site)
        #expect(renamed.status == 200, "registering never says whose the device is")
        #expect(site.rows("devices", "push_tokens") == before)
      }
    }
    try withNeighbour { site, ann, stranger throws in
      site.advance(by: .seconds(700))
      for (method, path) in [
        ("DELETE", AccountPath.account), ("POST", AccountPath.passkeyOptions),
      ] {
        let answer = show(stranger, method, path, token: ann.accessToken, at: site)
        #expect(answer.isError(403, "fresh_proof_required"), "\(path) \(answer.text)")
      }
    }
  }

  /// A phone's own credential is trusted after it was sent with a mailed code.
  @Test func aCredentialIsTrustedOnceItIsShownWithAProof() throws {
    try withNeighbour { site, _, own throws in
      #expect(site.count("devices WHERE credential_trusted_at IS NOT NULL") == 0)
      #expect(site.requestCode(credential: own).status == 200)
      let answer = site.verify(code: try site.mailedCode(), credential: own)
      let token = try #require(answer.accessToken, "\(answer.text)")
      site.advance(by: .seconds(700))
      #expect(show(own, "POST", AccountPath.passkeyOptions, token: token, at: site).status == 200)
    }
  }

  /// An unused registration does not replace the credential that the phone sends.
  @Test func theCredentialThatIsShownStays() throws {
    try withApplication { site in
      let own = try site.registerDevice()
      _ = try site.signUp(credential: own)
      let stranger = try site.registerDevice(pushToken: pushTokenText("e"))
      #expect(site.requestCode(credential: own).status == 200)
      let answer = site.verify(code: try site.mailedCode(), credential: own)
      let token = try #require(answer.accessToken, "\(answer.text)")
      #expect(site.summary(token, credential: own).status == 200)
      #expect(site.isNoProof(stranger, of: token))
      #expect(site.count("push_tokens") == 0)
    }
  }

  /// A signed-in phone keeps its name, its trusted credential and its push token when its id is
  /// registered again.
  @Test func aNeighborsRegistrationChangesNothingOfASignedInPhone() throws {
    try withApplication { site in
      let own = try site.registerDevice(pushToken: pushTokenText("a"))
      let ann = try site.signUp(credential: own)
      _ = try site.setUp(of: ann)
      let before = site.sql("SELECT name, credential_hash FROM devices")
      try site.registerDevice(
        name: "Mine", platform: "android", pushToken: pushTokenText("e"))
      let answer = try site.signIn(with: .one)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(site.sql("SELECT name, credential_hash FROM devices") == before)
      #expect(site.sql("SELECT token FROM push_tokens") == pushTokenText("a"))
    }
  }

  // Signing out everywhere -----------------------------------------------------------------------------

  @Test(arguments: [true, false])
  func signingOutEverywhereWithAProofEndsWhatIsNotTrusted(isFresh: Bool) throws {
    try withApplication { site in
      let owner = try Owner(site)
      let tablet = try owner.onTablet(at: site)
      site.advance(by: .seconds(700))
      _ = try site.setUp(.two, of: tablet)  // with a stolen bearer
      let thief = site.send(
        "POST", AccountPath.registerDevice,
        jsonText(["deviceId": "device-2", "deviceName": "Phone", "platform": "ios"]),
        token: tablet.accessToken)
      #expect(thief.status == 200)
      site.advance(by: .seconds(2 * 86_400))
      let answer = isFresh ? try site.signInByCode() : site.refresh(owner.ann.refreshToken)
      let token = try #require(answer.accessToken, "\(answer.text)")
      #expect(
        site.send("POST", AccountPath.logout, token: token, query: "revokeAll=true").status == 200)
      #expect(site.count("biometric_keys WHERE trusted_at = enrolled_at") == 1)
      #expect(site.count("biometric_keys WHERE trusted_at > enrolled_at") == (isFresh ? 0 : 1))
      #expect(site.count("devices WHERE credential_hash IS NOT NULL") == (isFresh ? 0 : 1))
      #expect(site.count("passkeys") == 1)
    }
  }

  // Mails to the owner
  // ---------------------------------------------------------------------------------

  @Test func theOwnerIsToldOfRemovedKeys() throws {
    try withApplication { site in
      let owner = try Owner(site)
      _ = try site.setUp(.two, of: try owner.onTablet(at: site))
      func mails() -> Int { site.count("outbox WHERE kind = 'keys_removed'") }
      #expect(
        site.send("DELETE", "/api/mobile/auth/biometric", token: owner.ann.accessToken).status
          == 200)
      #expect(mails() == 0, "the switch of the own phone")
      #expect(attempt(.foreignKey, owner.ann.accessToken, at: site).status == 200)
      #expect(mails() == 1)
      #expect(attempt(.foreignKey, owner.ann.accessToken, at: site).status == 200)
      #expect(mails() == 1, "there was none any more")
      #expect(attempt(.removedPasskey, owner.ann.accessToken, at: site).status == 200)
      #expect(mails() == 2)
      #expect(attempt(.allKeys, owner.ann.accessToken, at: site).status == 200)
      #expect(mails() == 2, "there were none any more")
      let again = try site.signIn()
      _ = try site.setUp(of: again)
      #expect(attempt(.allKeys, again.accessToken, at: site).status == 200)
      #expect(mails() == 3)
    }
  }
}

extension TestApplication {
  /// Signs Ann in with a mailed code, even if she has passkeys.
  fileprivate func signInByCode(on device: String = "device-1") throws -> Answer {
    let asked = send(
      "POST", AccountPath.login,
      jsonText([
        "email": "ann@example.org", "deviceId": device, "deviceName": "Phone", "platform": "ios",
        "method": "email",
      ]))
    try #require(asked.string("method") == "email", "\(asked.text)")
    return verify(code: try mailedCode(), device: device)
  }
}

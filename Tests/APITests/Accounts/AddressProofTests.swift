import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// The first proof of an e-mail address decides the owner of an account.
@Suite struct AddressProofTests {
  static let stranger = "device-stranger"
  private static let credentialField = "X-Device-Credential"

  /// Things a stranger may add to an account before the owner arrives: a session, a passkey, a
  /// biometric key, a push token, a bank with a card, and a payment.
  struct Attack {
    let site: TestApplication
    let session: SignedIn
    let passkey = Authenticator()
    let card: String
    let shop: String

    /// - Parameter credential: that of the registration, if the sign-up shows it.
    init(
      on site: TestApplication, device: String = stranger, showing credential: String? = nil
    ) throws {
      self.site = site
      session = try site.signUp(device: device, credential: credential, isProven: false)
      try site.addPasskey(passkey, of: session)
      _ = try site.setUp(.two, of: session)
      card = site.addCard(of: session)
      shop = try site.merchants.add("Shop").key
      Evidence.keep(secret: shop)
      let token = site.send(
        "POST", "/api/mobile/device/push-token",
        jsonText([
          "deviceId": device, "pushToken": String(repeating: "a", count: 64), "platform": "ios",
        ]), token: session.accessToken)
      try #require(token.status == 200, "\(token.text)")
    }

    /// Whether any of the stranger's credentials or data still work.
    func works() throws -> Bool {
      let isIn =
        site.summary(session.accessToken).status == 200
        || site.refresh(session.refreshToken).status == 200
      let order = #"{"cardId":"\#(card)","amount":1}"#
      let pays = site.initiate(order, key: shop, token: session.accessToken).status == 200
      let challenge = site.requestChallenge(session.deviceID)
      let offer = site.startSignIn(device: session.deviceID)
      return isIn || pays || challenge.status == 200 || offer.string("method") == "passkey"
    }
  }

  /// Signs in with a code even if a passkey would be offered.
  func signInByCode(on device: String, _ site: TestApplication) throws -> Answer {
    #expect(site.startSignIn(device: device, method: "email").status == 200)
    return site.verify(code: try site.mailedCode(), device: device)
  }

  func events(_ site: TestApplication) -> [String] {
    site.sql(
      "SELECT event FROM audit_log WHERE event LIKE 'account%' OR event = 'email_proven' ORDER BY id"
    ).split(separator: "\n").map(String.init)
  }

  @Test func anOwnerWhoProvesTheAddressGetsACleanAccount() throws {
    try withApplication { site in
      let attack = try Attack(on: site)
      #expect(site.summary(attack.session.accessToken).status == 200)
      let owner = try site.signIn(device: "device-owner")
      #expect(owner.accountID == attack.session.accountID)
      #expect(try !attack.works())
      let rows = [
        "passkeys", "biometric_keys", "push_tokens", "enrollment_states", "enrollments", "cards",
      ]
      #expect(rows.map { site.count($0) } == [0, 0, 0, 0, 0, 0])
      #expect(site.count("sessions WHERE end_reason = 'handed_over'") == 1)
      #expect(site.summary(owner.accessToken).text.contains(#""cards":[]"#))
      #expect(events(site) == ["account_created", "account_handed_over"])
      #expect(
        site.sql("SELECT detail FROM audit_log WHERE event = 'account_handed_over'")
          .contains("another phone"))
    }
  }

  @Test func theDownloadHasNoCardOfTheEarlierPerson() throws {
    try withApplication { site in
      _ = try Attack(on: site)
      var visitor = PageVisitor(site)
      _ = try visitor.signIn()
      let file = visitor.open("/account/export")
      #expect(file.status == 200)
      #expect(file["cards"] as? [Any] != nil)
      #expect(file["cards", 0] == nil)
      #expect(!file.text.contains("lastFour"))
    }
  }

  enum Way: CaseIterable { case onAnotherPhone, onTheSamePhone, onThePage }

  /// A stranger's changes to the account, the device and its preferences are removed.
  @Test(arguments: Way.allCases)
  func nothingThatAStrangerSaidStays(way: Way) throws {
    try withApplication { site in
      let stranger = try site.signUp(device: "device-1", isProven: false)
      site.sql("UPDATE accounts SET language = 'de'")
      let token = stranger.accessToken
      #expect(
        site.send("PUT", AccountPath.profile, #"{"name":"Squatter"}"#, token: token).status == 200)
      #expect(
        site.send("PUT", "\(AccountPath.devices)/device-1", #"{"name":"Lair"}"#, token: token)
          .status
          == 200)
      #expect(
        site.post(
          #"{"push_enabled":true,"preferred_models":["gpt-4o"],"archive_cache_quota_mb":4096,"push_token":"x"}"#,
          by: stranger
        ).status == 200)
      switch way {
      case .onAnotherPhone, .onTheSamePhone:
        let device = way == .onTheSamePhone ? "device-1" : "device-owner"
        #expect(site.requestCode(device: device, name: "Mine").status == 200)
        let answer = site.verify(code: try site.mailedCode(), device: device)
        #expect(answer.string("user", "name") == "ann", "\(answer.text)")
      case .onThePage:
        var visitor = PageVisitor(site)
        #expect(try !visitor.signIn().text.contains("Squatter"))
      }
      #expect(
        site.sql("SELECT name, username, language FROM accounts") == "ann\tann@example.org\tNULL")
      #expect(site.count("devices WHERE name = 'Lair'") == 0)
      let kept = site.rows("accounts", "devices", "device_preferences", "sessions")
      #expect(!kept.contains("Squatter"))
      #expect(
        site.sql(
          """
          SELECT DISTINCT push_enabled, push_token, preferred_models, archive_cache_quota_mb, version
          FROM device_preferences
          """) == "0\tNULL\t[]\t512\t0")
    }
  }

  /// Later additions of the owner stay when codes are requested again.
  @Test func onlyTheFirstProofHandsTheAccountOver() throws {
    try withApplication { site in
      _ = try Attack(on: site)
      let owner = try site.signIn(device: "device-owner")
      let key = Authenticator()
      try site.addPasskey(key, of: owner)
      #expect(try signInByCode(on: "device-tablet", site).status == 200)
      #expect(site.summary(owner.accessToken).status == 200)
      #expect(try site.signIn(with: key, device: "device-tablet").status == 200)
      #expect(events(site) == ["account_created", "account_handed_over"])
    }
  }

  /// Cards stay, because people sign out and in again on their phone and the app shows them no
  /// history.
  @Test func onTheSamePhoneCardsStay() throws {
    try withApplication { site in
      let first = try Attack(on: site, device: "device-1")
      let again = try site.signIn(device: "device-1")
      #expect(site.summary(again.accessToken).text.contains(first.card))
      #expect(site.summary(first.session.accessToken).status == 401)
      #expect(site.count("passkeys") + site.count("biometric_keys") == 0)
      #expect(events(site) == ["account_created", "account_handed_over"])
    }
  }

  enum Shown: CaseIterable { case bearer, credential }

  @Test(arguments: Shown.allCases)
  func aProofByTheDeviceThatSignedUpKeepsAll(_ shown: Shown) throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      let honest = try Attack(on: site, device: "device-1", showing: credential)
      #expect(site.requestCode().status == 200)
      let body = jsonText([
        "email": "ann@example.org", "deviceId": "device-1", "code": try site.mailedCode(),
      ])
      let answer = site.send(
        "POST", AccountPath.verify, body,
        token: shown == .bearer ? honest.session.accessToken : nil,
        fields: shown == .credential ? [(Self.credentialField, credential)] : [])
      #expect(answer.status == 200)
      #expect(try honest.works())
      #expect(site.count("passkeys") + site.count("biometric_keys") == 2)
      #expect(events(site) == ["account_created", "email_proven"])
    }
  }

  /// A neighbour who knows the id of a phone signs up on it with the address of its owner. The sign-up
  /// shows no credential: it gets that of the owner's registration, which proves nothing.
  @Test func aCredentialThatTheSignUpDidNotShowKeepsNothing() throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      let neighbour = try Attack(on: site, device: "device-1")
      #expect(site.requestCode(credential: credential).status == 200)
      let row = site.sql("SELECT id, sealed FROM outbox WHERE kind = 'login_code'")
        .split(separator: "\t").map(String.init)
      let mail = try site.mailContent(row[1], ofMail: row[0])
      #expect(mail.handsOver)
      let answer = site.verify(code: mail.secret, device: "device-1", credential: credential)
      let token = try #require(answer.accessToken, "\(answer.text)")
      #expect(events(site) == ["account_created", "account_handed_over"])
      for rows in ["passkeys", "biometric_keys", "push_tokens"] { #expect(site.count(rows) == 0) }
      #expect(site.summary(neighbour.session.accessToken).status == 401)
      #expect(site.requestChallenge("device-1").status == 400)
      // The owner's credential stays, and proves something now.
      #expect(site.count("devices WHERE credential_trusted_at IS NOT NULL") == 1)
      let devices = site.send(
        "GET", AccountPath.devices, token: token, fields: [(Self.credentialField, credential)])
      #expect(devices.status == 200)
    }
  }

  @Test func theBearerOfAnEndedSessionKeepsNothing() throws {
    try withApplication { site in
      let attack = try Attack(on: site, device: "device-1")
      let bearer = attack.session.accessToken
      #expect(site.send("POST", AccountPath.logout, token: bearer).status == 200)
      #expect(site.requestCode().status == 200)
      let body = jsonText([
        "email": "ann@example.org", "deviceId": "device-1", "code": try site.mailedCode(),
      ])
      #expect(site.send("POST", AccountPath.verify, body, token: bearer).status == 200)
      #expect(site.count("passkeys") + site.count("biometric_keys") == 0)
      #expect(events(site) == ["account_created", "account_handed_over"])
    }
  }

  /// A bearer token of another account counts as no bearer token.
  @Test func theBearerOfAnotherAccountKeepsNothing() throws {
    try withApplication { site in
      let attack = try Attack(on: site)
      let bob = try site.signUp(email: "bob@example.org", device: "device-bob")
      #expect(site.requestCode(device: "device-owner").status == 200)
      let answer = site.send(
        "POST", AccountPath.verify,
        jsonText([
          "email": "ann@example.org", "deviceId": "device-owner", "code": try site.mailedCode(),
        ]), token: bob.accessToken)
      #expect(answer.status == 200)
      #expect(try !attack.works())
      #expect(site.summary(bob.accessToken).status == 200)
    }
  }

  @Test func passkeysOfAnUnprovenAccountAreNotOffered() throws {
    try withApplication { site in
      let attack = try Attack(on: site)
      #expect(site.startSignIn().string("method") == "email")
      #expect(attack.session.email == "ann@example.org")
    }
  }

  /// Actions of a stranger during the proof leave nothing behind.
  @Test func nothingThatIsAddedMeanwhileStays() throws {
    for _ in 1...5 {
      try withApplication { site in
        let attack = try Attack(on: site)
        let other = Authenticator()
        site.sql("UPDATE sessions SET proved_at = created_at, began_by = 'code'")
        let challenge = try #require(site.passkeyOptions(of: attack.session).string("challenge"))
        #expect(site.requestCode(device: "device-owner").status == 200)
        let code = try site.mailedCode()
        let statuses = inParallel(8) { number in
          switch number {
          case 0: site.verify(code: code, device: "device-owner").status
          case 1, 2:
            site.register(
              other.created(answering: challenge), of: attack.session
            ).status
          case 3, 4:
            site.send(
              "POST", AccountPath.setup,
              jsonText([
                "deviceId": attack.session.deviceID, "publicKey": PhoneKey.one.publicKey,
                "biometricType": "face",
              ]), token: attack.session.accessToken
            ).status
          default: site.refresh(attack.session.refreshToken).status
          }
        }
        #expect(statuses[0] == 200)
        #expect(try !attack.works())
        #expect(site.count("passkeys") == 0)
        #expect(site.count("biometric_keys") == 0)
        #expect(site.count("sessions WHERE ended_at IS NULL") == 1)
      }
    }
  }
}

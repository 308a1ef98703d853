import Base
import Cryptography
import Store
import Support
import Testing

@testable import API

/// What was added to an account before its address was proven, and stays after it.
@Suite struct ProofAccessTests {
  enum Proof: CaseIterable { case yes, code }

  private func secret(_ kind: String, _ site: TestApplication) throws -> MailContent {
    let row = site.sql(
      "SELECT id, sealed FROM outbox WHERE kind = '\(kind)' ORDER BY id DESC LIMIT 1"
    ).split(separator: "\t").map(String.init)
    try #require(row.count == 2)
    return try site.mailContent(row[1], ofMail: row[0])
  }

  private func answer(_ site: TestApplication, _ word: String) throws -> Answer {
    site.send(
      "POST", "/account/confirm",
      "token=\(try secret("email_confirmation", site).secret)&answer=\(word)")
  }

  /// Proves the address on the phone that signed up.
  ///
  /// - Returns: the access token that the phone has then.
  private func prove(_ proof: Proof, _ ann: SignedIn, _ site: TestApplication) throws -> String {
    switch proof {
    case .yes:
      #expect(try answer(site, "yes").status == 200)
      return ann.accessToken
    case .code:
      #expect(site.requestCode().status == 200)
      let verified = site.send(
        "POST", AccountPath.verify,
        jsonText([
          "email": ann.email, "deviceId": ann.deviceID, "code": try site.mailedCode(),
        ]), token: ann.accessToken)
      return try #require(verified.accessToken, "\(verified.text)")
    }
  }

  private func pay(
    _ token: String, _ ann: SignedIn, _ card: String, _ shop: String, _ site: TestApplication
  ) throws -> Answer {
    let begun = site.initiate(
      #"{"cardId":"\#(card)","amount":999}"#, key: shop, token: token)
    let payment = BegunPayment(
      id: try #require(begun.string("paymentId"), "\(begun.text)"),
      challenge: try #require(begun.string("challenge")))
    return site.confirm(
      [
        "paymentId": payment.id, "deviceId": ann.deviceID, "signature": PhoneKey.two.sign(payment),
      ], key: shop, token: token)
  }

  /// A thief with a copied access token sets a key on an account whose owner cannot be told, and waits a day.
  @Test(arguments: Proof.allCases)
  func theProbationOfAKeyBeginsAtTheProof(proof: Proof) throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      let card = site.addCard(of: ann)
      let shop = try site.merchants.add("Shop").key
      site.advance(by: .seconds(700))
      _ = try site.setUp(.two, of: ann)
      site.advance(by: .seconds(2000))
      site.sql(
        "UPDATE biometric_keys SET enrolled_at = enrolled_at - INTERVAL 2 DAY, trusted_at = trusted_at - INTERVAL 2 DAY"
      )
      let token = try prove(proof, ann, site)
      #expect(try pay(token, ann, card, shop, site).isError(403, "key_too_new"))
      let later = try #require(try site.signIn(with: .two).accessToken)
      #expect(try pay(later, ann, card, shop, site).isError(403, "key_too_new"))
      site.advance(by: .seconds(86_399))
      let last = try #require(try site.signIn(with: .two).accessToken)
      #expect(try pay(last, ann, card, shop, site).isError(403, "key_too_new"))
      site.advance(by: .seconds(1))
      #expect(try pay(last, ann, card, shop, site).status == 200)
    }
  }

  /// A code that is typed on the phone later is a fresh proof there, and ends the probation.
  @Test func aLaterProofOnThePhoneEndsTheProbation() throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      let card = site.addCard(of: ann)
      let shop = try site.merchants.add("Shop").key
      site.advance(by: .seconds(700))
      _ = try site.setUp(.two, of: ann)
      _ = try prove(.yes, ann, site)
      site.advance(by: .seconds(60))
      let again = try site.signIn()
      #expect(try pay(again.accessToken, ann, card, shop, site).status == 200)
    }
  }

  /// The first ten minutes of a sign-up allow one key without a probation.
  @Test func theKeyOfTheSignUpItselfPaysAtOnce() throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      let card = site.addCard(of: ann)
      let shop = try site.merchants.add("Shop").key
      _ = try site.setUp(.two, of: ann)
      _ = try prove(.yes, ann, site)
      #expect(try pay(ann.accessToken, ann, card, shop, site).status == 200)
    }
  }

  @Test func aNewAddressThatProvesTheAccountBeginsTheProbationToo() throws {
    try withApplication { site in
      let ann = try site.proveWithKey(site.signUp(isProven: false))
      site.sql(
        "UPDATE biometric_keys SET enrolled_at = enrolled_at - INTERVAL 2 DAY, trusted_at = enrolled_at + INTERVAL 1 DAY"
      )
      _ = site.send(
        "PUT", AccountPath.profile, #"{"email":"new@example.org"}"#, token: ann.accessToken)
      let token = try site.addressToken()
      #expect(site.send("POST", "/account/address", "token=\(token)").status == 200)
      #expect(site.count("biometric_keys WHERE trusted_at > '2026-11-01'") == 1)
      #expect(
        site.sql("SELECT recipient FROM outbox WHERE kind = 'address_proven'") == "new@example.org")
    }
  }

  // The list -------------------------------------------------------------------------------------------

  @Test func thePageListsWhatTheAccountHas() throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      try site.addPasskey(Authenticator(), name: "Key of eve", of: ann)
      site.advance(by: .seconds(3000))
      _ = try site.setUp(of: ann)
      let token = try secret("email_confirmation", site).secret
      let page = site.send("GET", "/account/confirm", query: "token=\(token)").text
      for fact in ["Key of eve", "Passkey", "Face or fingerprint", "Device", site.now.rfc3339] {
        #expect(page.contains(fact), "\(fact)")
      }
    }
  }

  @Test(arguments: Proof.allCases)
  func aMailAfterTheProofListsItAndItsLinkRemovesIt(proof: Proof) throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      let key = Authenticator()
      try site.addPasskey(key, of: ann)
      site.advance(by: .seconds(700))
      _ = try site.setUp(of: ann)
      _ = try prove(proof, ann, site)
      let content = try secret("address_proven", site)
      #expect(content.access.map(\.kind.rawValue) == ["device", "passkey", "key"])
      #expect(content.device == "Phone")
      site.advance(by: .seconds(60))
      let tablet = try site.signInByMailedCode(device: "device-2")
      let before = site.rows("accounts", "devices", "sessions", "passkeys", "biometric_keys")
      let page = site.send("GET", "/account/end", query: "token=\(content.secret)")
      #expect(page.status == 200)
      #expect(page.text.contains("Passkey"))
      #expect(
        site.rows("accounts", "devices", "sessions", "passkeys", "biometric_keys") == before)
      #expect(site.send("POST", "/account/end", "token=\(content.secret)").status == 200)
      #expect(site.count("passkeys") + site.count("biometric_keys") == 0)
      #expect(site.summary(ann.accessToken).status == 401)
      #expect(site.refresh(ann.refreshToken).status == 401)
      #expect(site.summary(tablet).status == 200, "what came later stays")
      #expect(site.startSignIn().string("method") == "email")
      #expect(site.send("POST", "/account/end", "token=\(content.secret)").status == 404)
    }
  }

  /// Whoever has read the mail must not sign the owner out again and again, or remove later keys.
  @Test func theLinkRemovesOnce() throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      _ = try prove(.yes, ann, site)
      let link = try secret("address_proven", site).secret
      #expect(site.send("POST", "/account/end", "token=\(link)").status == 200)
      site.advance(by: .seconds(60))
      let again = try site.signIn()
      try site.addPasskey(Authenticator(), of: again)
      _ = try site.setUp(of: again)
      #expect(site.send("POST", "/account/end", "token=\(link)").status == 404)
      #expect(site.summary(again.accessToken).status == 200)
      #expect(site.count("passkeys") + site.count("biometric_keys") == 2)
    }
  }

  @Test func nothingIsMailedWhenNothingStays() throws {
    try withApplication { site in
      _ = try site.signUp(isProven: false)
      _ = try site.signIn(device: "device-2")
      #expect(site.count("outbox WHERE kind = 'address_proven'") == 0)
    }
  }

  // The link of a device -------------------------------------------------------------------------------

  private func deviceLink(_ site: TestApplication) throws -> String {
    try secret("new_device", site).secret
  }

  @Test func theLinkOfANewDeviceRemovesThePasskeysThatItAdded() throws {
    try withApplication { site in
      let ann = try site.signUp()
      try site.addPasskey(Authenticator(), name: "own", of: ann)
      let thief = try site.signInByMailedCode(device: "device-9")
      let person = SignedIn(
        email: ann.email, deviceID: "device-9", accountID: ann.accountID, accessToken: thief,
        refreshToken: "")
      try site.addPasskey(Authenticator(), name: "stolen", of: person)
      let link = try deviceLink(site)
      #expect(site.send("GET", "/account/end", query: "token=\(link)").text.contains("passkey"))
      #expect(site.send("POST", "/account/end", "token=\(link)").status == 200)
      #expect(site.sql("SELECT name FROM passkeys") == "own")
      #expect(site.send("POST", "/account/end", "token=\(link)").status == 404)
    }
  }

  /// Also one that a second sign-in on the device has added, and also after the device was removed otherwise.
  @Test(arguments: [true, false])
  func thePasskeyGoesHoweverTheDeviceEnded(signsInAgain: Bool) throws {
    try withApplication { site in
      let ann = try site.signUp()
      var token = try site.signInByMailedCode(device: "device-9")
      let link = try deviceLink(site)
      if signsInAgain { token = try site.signInByMailedCode(device: "device-9") }
      let person = SignedIn(
        email: ann.email, deviceID: "device-9", accountID: ann.accountID, accessToken: token,
        refreshToken: "")
      try site.addPasskey(Authenticator(), of: person)
      if !signsInAgain {
        let revoked = site.send(
          "DELETE", "\(AccountPath.devices)/device-9", token: ann.accessToken)
        #expect(revoked.status == 200)
      }
      #expect(site.send("POST", "/account/end", "token=\(link)").status == 200)
      #expect(site.count("passkeys") == 0)
    }
  }
}

extension TestApplication {
  /// Signs Ann in with a mailed code, even if she has passkeys.
  ///
  /// - Returns: the access token.
  fileprivate func signInByMailedCode(device: String) throws -> String {
    #expect(startSignIn(device: device, method: "email").status == 200)
    let answer = verify(code: try mailedCode(), device: device)
    return try #require(answer.accessToken, "\(answer.text)")
  }
}

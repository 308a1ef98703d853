import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// Warnings to people before an account is handed over or gets an address.
@Suite struct HandOverMailTests {
  /// Whether the newest mail with a code warns that the code hands over the account.
  private func warns(_ site: TestApplication) throws -> Bool {
    let row = site.sql(
      """
      SELECT id, sealed FROM outbox WHERE state = 'open' AND kind = 'login_code'
      ORDER BY created_at DESC, id DESC LIMIT 1
      """
    ).split(separator: "\t").map(String.init)
    try #require(row.count == 2)
    return try site.mailContent(row[1], ofMail: row[0]).handsOver
  }

  @Test(arguments: Language.allCases)
  func aPhoneIsToldAtSignUpWhatKeepsItSignedIn(language: Language) throws {
    try withApplication { site in
      let answer = site.send(
        "POST", AccountPath.register,
        #"{"email":"a@example.org","name":"A","deviceId":"d","deviceName":"P","platform":"ios"}"#,
        fields: [(name: "Accept-Language", value: language.rawValue)])
      #expect(answer.status == 201)
      #expect(answer.string("message") == Messages(in: language).confirmAddress)
      #expect(answer.field("Content-Language") == language.rawValue)
    }
  }

  @Test func theMailWithTheCodeWarnsWhereTheCodeHandsOver() throws {
    try withApplication { site in
      let credential = try site.registerDevice()
      _ = try site.signUp(credential: credential, isProven: false)
      #expect(site.requestCode(device: "device-2").status == 200)
      #expect(try warns(site))
      #expect(site.requestCode(credential: credential).status == 200)
      #expect(try !warns(site))  // this sign-in keeps everything
      #expect(
        site.verify(code: try site.mailedCode(), credential: credential).status == 200)
      site.advance(by: .seconds(900))
      #expect(site.requestCode(device: "device-2").status == 200)
      #expect(try !warns(site))  // the address is proven
    }
  }

  @Test func theAnswerToALoginTellsNothingOfIt() throws {
    try withApplication { site in
      _ = try site.signUp(isProven: false)
      let known = site.requestCode()
      let unknown = site.requestCode("nobody@example.org")
      #expect(known.string("message") == unknown.string("message"))
      #expect(known.status == 200 && unknown.status == 200)
    }
  }

  @Test func aCodeForTheAccountPageWarnsToo() throws {
    try withApplication { site in
      _ = try site.signUp(isProven: false)
      var visitor = PageVisitor(site)
      _ = visitor.open()
      #expect(visitor.sent("/code", ["email": "ann@example.org"]).status == 303)
      #expect(try warns(site))
    }
  }

  @Test func aPasskeyFromBeforeTheProofIsOfferedAfterIt() throws {
    try withApplication { site in
      let ann = try site.signUp(isProven: false)
      let authenticator = Authenticator()
      let challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      let added = site.register(authenticator.created(answering: challenge), of: ann)
      #expect(added.status == 200)
      #expect(added["offered"] as? Bool == false)
      #expect(added.string("message") == Messages.english.passkeyWaits)
      #expect(site.startSignIn().string("method") == "email")
      let row = site.sql("SELECT id, sealed FROM outbox WHERE kind = 'email_confirmation'")
        .split(separator: "\t").map(String.init)
      let token = try site.mailContent(row[1], ofMail: row[0]).secret
      #expect(
        site.send("POST", "/account/confirm", "token=\(token)&answer=yes").status == 200)
      #expect(site.startSignIn().string("method") == "passkey")
      #expect(try site.signIn(with: authenticator).status == 200)
    }
  }

  @Test func ofAPasskeyThatIsOfferedNothingIsSaid() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      let added = site.register(Authenticator().created(answering: challenge), of: ann)
      #expect(added.status == 200)
      #expect(added["offered"] == nil && added["message"] == nil)
    }
  }

  /// A stranger requests another person's address. The page shows that person the requesting
  /// account.
  @Test func theLinkToANewAddressShowsWhoseAccountItIs() throws {
    try withApplication { site in
      let eve = try site.signUp(email: "eve@example.org", device: "device-eve")
      site.sql(
        """
        UPDATE accounts SET name = 'Eve <b>', created_at = '2025-02-03 04:05:06';
        UPDATE devices SET name = 'Eve\\'s phone'
        """)
      let asked = site.send(
        "PUT", AccountPath.profile, #"{"name":"Eve <b>","email":"ann@example.org"}"#,
        token: eve.accessToken)
      #expect(asked.status == 200, "\(asked.text)")
      let token = try site.addressToken()
      let page = site.send("GET", "/account/address", query: "token=\(token)").text
      for fact in [
        "<bdi>Eve &lt;b&gt;</bdi>", "<bdi>Eve&#39;s phone</bdi>", "3 February 2025, 04:05 UTC",
        "<bdi>ann@example.org</bdi>", "open the account of somebody else",
      ] {
        #expect(page.contains(fact), "\(fact)")
      }
      #expect(!page.contains("eve@example.org"))  // the mail may have gone to a stranger
      site.sql("UPDATE devices SET revoked_at = UTC_TIMESTAMP(3)")
      let alone = site.send("GET", "/account/address", query: "token=\(token)").text
      #expect(alone.contains("none is signed in"))
    }
  }

  @Test func anEmptyNameOfADeviceIsAsIfAbsent() throws {
    try withApplication { site in
      try site.registerDevice(name: "Registered")
      let body =
        #"{"email":"ann@example.org","name":"Ann","deviceId":"device-1","deviceName":"","platform":"ios"}"#
      #expect(site.send("POST", AccountPath.register, body).status == 201)
      #expect(site.sql("SELECT name FROM devices") == "Registered")
      site.prove("ann@example.org")
      #expect(site.requestCode(name: " ").status == 200)
      let code = try site.mailedCode()
      let typed =
        #"{"email":"ann@example.org","deviceId":"device-1","deviceName":"","code":"\#(code)"}"#
      #expect(site.send("POST", AccountPath.verify, typed).status == 200)
      #expect(site.sql("SELECT name FROM devices") == "Registered")
    }
  }
}

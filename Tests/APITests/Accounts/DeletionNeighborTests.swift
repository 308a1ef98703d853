import Support
import Testing

@testable import API

/// The id of a phone is not secret. A stranger who signs up with that of another person and deletes the
/// account erases only rows of that account.
@Suite struct DeletionNeighborTests {
  enum Way: CaseIterable { case app, denial }

  private static let stranger = "198.51.100.9"

  /// Signs a stranger up on `device-1`, and deletes that account.
  private func signUpAndDelete(_ site: TestApplication, by way: Way) throws {
    let thief = try site.signUp(
      email: "thief@example.org", address: Self.stranger, isProven: way == .app)
    switch way {
    case .app:
      let answer = site.send(
        "DELETE", AccountPath.account, token: thief.accessToken, address: Self.stranger)
      #expect(answer.status == 200, "\(answer.text)")
    case .denial:
      let row = site.sql("SELECT id, sealed FROM outbox WHERE kind = 'email_confirmation'")
        .split(separator: "\t").map(String.init)
      let token = try site.mailContent(row[1], ofMail: row[0]).secret
      let answer = site.send("POST", "/account/confirm", "token=\(token)&answer=no")
      #expect(answer.text.contains("deleted"))
    }
    #expect(site.count("accounts WHERE email = 'thief@example.org'") == 0)
  }

  @Test(arguments: Way.allCases)
  func theRegistrationAndTheCodeOfAnotherPersonStay(way: Way) throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      let credential = try site.registerDevice("device-1", pushToken: pushTokenText())
      #expect(site.requestCode(credential: credential).status == 200)
      let code = try site.mailedCode()
      try signUpAndDelete(site, by: way)
      #expect(site.count("device_registrations") == 1)
      let answer = site.verify(code: code, credential: credential)
      #expect(answer.status == 200, "\(answer.text)")
      #expect(site.summary(try #require(answer.accessToken), credential: credential).status == 200)
      #expect(site.sql("SELECT token FROM push_tokens") == pushTokenText())
    }
  }

  @Test(arguments: Way.allCases)
  func theChallengeForAPasskeyOfAnotherPersonStays(way: Way) throws {
    try withApplication { site in
      let ann = try site.signUp(device: "device-0")
      let key = Authenticator()
      try site.addPasskey(key, of: ann)
      let asked = site.send(
        "POST", AccountPath.login,
        jsonText([
          "method": "passkey", "deviceId": "device-1", "deviceName": "Phone", "platform": "ios",
        ]))
      let challenge = try #require(asked.string("challenge"), "\(asked.text)")
      try signUpAndDelete(site, by: way)
      let answer = site.verify(key.asserted(answering: challenge))
      #expect(answer.status == 200, "\(answer.text)")
    }
  }

  /// An old registration that only the account's own phone can have made goes with the account.
  @Test func aRegistrationWithAPushTokenOfTheAccountGoes() throws {
    try withApplication { site in
      try site.registerDevice("device-1", pushToken: pushTokenText(), address: Self.stranger)
      let credential = try site.registerDevice("device-1", pushToken: pushTokenText())
      let ann = try site.signUp(credential: credential)
      #expect(site.count("device_registrations") == 1)
      #expect(site.send("DELETE", AccountPath.account, token: ann.accessToken).status == 200)
      #expect(site.count("device_registrations") == 0)
    }
  }
}

import Foundation
import Support
import Testing

@testable import API

/// Passkeys made and used by a real browser.
@Suite struct PasskeyBrowserTests {
  @Test func browsersAcceptTheOptionsAndTheirAnswersAreAccepted() throws {
    let page = FakeAgent()
    defer { page.end() }
    let origin = "http://localhost:\(page.address.split(separator: ":")[1])"
    let browser = try Browser(size: (400, 400))
    try browser.addAuthenticator()
    try browser.open(origin)
    try withApplication { site in
      let responder = site.sibling(settings: .ofTests(publicURL: origin))
      let device: [String: Any?] = [
        "email": "ann@example.org", "name": "Ann", "deviceId": "device-1", "deviceName": "Phone",
        "platform": "ios",
      ]
      let token = try #require(
        responder.send("POST", AccountPath.register, jsonText(device)).accessToken)
      site.prove("ann@example.org")
      func create() throws -> String {
        let options = responder.send("POST", AccountPath.passkeyOptions, token: token)
        return try browser.text(
          of: """
            navigator.credentials.create({publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(\(options.text))})
              .then(created => JSON.stringify(created), error => error.name)
            """)
      }
      let added = responder.send(
        "POST", AccountPath.passkeyVerify, #"{"credential":\#(try create())}"#, token: token)
      #expect(added.status == 200, "\(added.text)")
      // The options now exclude the passkey.
      #expect(try create() == "InvalidStateError")

      for _ in 1...2 {
        let login = responder.send("POST", AccountPath.login, jsonText(device))
        let options = String(
          decoding: try JSONSerialization.data(
            withJSONObject: try #require(login["passkeyOptions"])), as: UTF8.self)
        let credential = try browser.text(
          of: """
            navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(\(options))})
              .then(asserted => JSON.stringify(asserted))
            """)
        let answer = responder.send(
          "POST", AccountPath.verify, #"{"deviceId":"device-1","credential":\#(credential)}"#)
        #expect(answer.status == 200, "\(answer.text)")
      }
      #expect(site.sql("SELECT uses, sign_count > 0 FROM passkeys") == "2\t1")
    }
  }
}

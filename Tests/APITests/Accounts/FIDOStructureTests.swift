import Foundation
import Support
import Testing

@testable import API

/// The items `Resp-1` of the FIDO Alliance's conformance test for servers, by their public names: answers of which
/// one member is missing, of another type, or not base64url. `FIDOServerTests` has the other items.
@Suite struct FIDOStructureTests {
  private struct Item {
    let number: Int
    let member: String
    let value: (any Sendable)?

    init(_ number: Int, _ member: String, _ value: (any Sendable)?) {
      self.number = number
      self.member = member
      self.value = value
    }

    /// The items that both ceremonies have.
    static let common = [
      Item(1, "id", nil), Item(2, "id", 5), Item(3, "id", "+/=="), Item(4, "type", nil),
      Item(5, "type", 5), Item(6, "type", "public"), Item(7, "response", nil),
      Item(8, "response", "x"), Item(9, "response.clientDataJSON", nil),
      Item(10, "response.clientDataJSON", 5), Item(11, "response.clientDataJSON", ""),
    ]
  }

  @Test func registrationsHaveTheirStructure() throws {
    let items =
      Item.common + [
        Item(12, "response.attestationObject", nil), Item(13, "response.attestationObject", 5),
        Item(14, "response.attestationObject", ""),
      ]
    try withApplication { site throws in
      let ann = try site.signUp()
      let authenticator = Authenticator()
      let challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      let credential = authenticator.created(answering: challenge)
      for item in items {
        let body = passkeyBody(credential, but: item.member, is: item.value)
        let answer = site.send("POST", AccountPath.passkeyVerify, body, token: ann.accessToken)
        #expect(answer.isError(400, "bad_request"), "F-\(item.number): \(answer.text)")
      }
      // P-1, the last: the next options exclude the passkey.
      #expect(site.register(credential, of: ann).status == 200)
      site.forgetPasskeyStarts()
      let excluded = site.passkeyOptions(of: ann)
      #expect(excluded["excludeCredentials", 0, "type"] as? String == "public-key")
      #expect(excluded["excludeCredentials", 0, "id"] as? String == credential["id"] as? String)
      #expect(items.count == 14)
    }
  }

  @Test func signInsHaveTheirStructure() throws {
    let items =
      Item.common + [
        Item(12, "response.authenticatorData", nil), Item(13, "response.authenticatorData", 5),
        Item(14, "response.authenticatorData", "+/=="), Item(15, "response.authenticatorData", ""),
        Item(16, "response.signature", nil), Item(17, "response.signature", 5),
        Item(18, "response.signature", "+/=="), Item(19, "response.signature", ""),
        Item(21, "response.userHandle", 5),
      ]
    try withPasskey { site, _, authenticator throws in
      let credential = authenticator.asserted(answering: try site.signInChallenge())
      for item in items {
        let body = passkeyBody(credential, but: item.member, is: item.value)
        let answer = site.send("POST", AccountPath.verify, body)
        #expect(answer.isError(400, "bad_request"), "F-\(item.number): \(answer.text)")
      }
      #expect(items.count == 20)
      // F-20 spends the challenge, so P-1 answers a new one.
      let wrong = passkeyBody(credential, but: "response.signature", is: "AAAA")
      let unverified = site.send("POST", AccountPath.verify, wrong)
      #expect(unverified.isRefusedPasskey)
      #expect(try site.signIn(with: authenticator).status == 200)
    }
  }
}

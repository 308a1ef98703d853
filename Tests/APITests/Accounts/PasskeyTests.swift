import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// `GET /api/mobile/passkeys`, `DELETE /api/mobile/passkeys/:id`
@Suite struct PasskeyTests {
  @Test func passkeysAreRegisteredListedAndRemoved() throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let authenticator = Authenticator()
      let challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      let answer = site.register(
        authenticator.created(answering: challenge), name: " Ann's phone ", of: ann)
      let id = site.sql("SELECT id FROM passkeys")
      let members =
        #""id":"\#(id)","name":"Ann's phone","createdAt":"\#(iso8601(site.now))","lastUsedAt":null"#
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true,\#(members)}"#)
      let list = site.send("GET", AccountPath.passkeys, token: ann.accessToken)
      #expect(list.status == 200)
      #expect(list.text == #"{"passkeys":[{\#(members)}]}"#)
      #expect(
        site.sql(
          """
          SELECT account_id, HEX(credential_id), LENGTH(public_key), sign_count, is_backup_eligible,
            is_backed_up, uses FROM passkeys
          """)
          == "\(ann.accountID)\t\(hexEncoded(authenticator.credentialID).uppercased())\t77\t0\t1\t1\t0"
      )

      let removed = site.send("DELETE", "\(AccountPath.passkeys)/\(id)", token: ann.accessToken)
      #expect(removed.status == 200)
      let handle = base64URLEncoded(userHandle(ofAccount: ann.accountID))
      #expect(
        removed.text
          == #"{"success":true,"signalAllAcceptedCredentials":{"rpId":"api.example.org","#
          + #""userId":"\#(handle)","allAcceptedCredentialIds":[]}}"#)
      #expect(
        site.send("GET", AccountPath.passkeys, token: ann.accessToken).text == #"{"passkeys":[]}"#)
      #expect(site.passkeyEvents == ["passkey_added \(id)", "passkey_removed \(id)"])
      let device = site.sql("SELECT id FROM devices")
      #expect(
        site.sql("SELECT DISTINCT account_id, device_id FROM audit_log WHERE event LIKE 'passkey%'")
          == "\(ann.accountID)\t\(device)")
    }
  }

  @Test func theNewestPasskeyIsFirstAndRegisteredOnesAreExcluded() throws {
    try withApplication { site throws in
      let ann = try site.signUp()
      let keys = [Authenticator(), Authenticator()]
      for (number, key) in keys.enumerated() {
        try site.addPasskey(key, name: "Key \(number)", of: ann)
        site.advance(by: .seconds(1))
      }
      let list = site.send("GET", AccountPath.passkeys, token: ann.accessToken)
      #expect(list["passkeys", 0, "name"] as? String == "Key 1")
      #expect(list["passkeys", 1, "name"] as? String == "Key 0")
      let excluded = site.passkeyOptions(of: ann)["excludeCredentials"] as? [[String: String]]
      #expect(
        excluded
          == keys.reversed().map {
            ["type": "public-key", "id": base64URLEncoded($0.credentialID)]
          })
      let bob = try site.signUp(email: "bob@example.org")
      #expect((site.passkeyOptions(of: bob)["excludeCredentials"] as? [Any])?.isEmpty == true)
      #expect(
        site.send("GET", AccountPath.passkeys, token: bob.accessToken).text == #"{"passkeys":[]}"#)
    }
  }

  @Test func everyRouteNeedsALiveSession() throws {
    try withPasskey { site, ann, _ throws in
      let id = site.sql("SELECT id FROM passkeys")
      let challenge = try #require(site.passkeyOptions(of: ann).string("challenge"))
      let body = jsonText(["credential": Authenticator().created(answering: challenge)])
      let requests = [
        ("POST", AccountPath.passkeyOptions, ""), ("POST", AccountPath.passkeyVerify, body),
        ("GET", AccountPath.passkeys, ""), ("DELETE", "\(AccountPath.passkeys)/\(id)", ""),
      ]
      for (method, path, body) in requests {
        #expect(site.send(method, path, body).isError(401, "unauthorized"))
        #expect(site.send(method, path, body, token: "x").isError(401, "unauthorized"))
      }
      #expect(site.send("POST", AccountPath.logout, token: ann.accessToken).status == 200)
      for (method, path, body) in requests {
        let answer = site.send(method, path, body, token: ann.accessToken)
        #expect(answer.isError(401, "unauthorized", "Invalid or expired access token"))
      }
      #expect(site.count("passkeys") == 1)
    }
  }

  @Test func onlyOwnPasskeysCanBeRemoved() throws {
    try withPasskey { site, _, _ throws in
      let bob = try site.signUp(email: "bob@example.org")
      let id = site.sql("SELECT id FROM passkeys")
      for path in [
        id, id.uppercased(), "x", "01890a5d-ac96-774b-bcce-b302099a8001", "' OR 1 = 1",
      ] {
        let answer = site.send("DELETE", "\(AccountPath.passkeys)/\(path)", token: bob.accessToken)
        #expect(
          answer.isError(404, "not_found", "This passkey is no longer there. Reload the list."),
          "\(path) \(answer.text)")
      }
      #expect(site.count("passkeys") == 1)
    }
  }
}

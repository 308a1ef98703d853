import Administration
import Foundation
import Store
import Support
import Testing

@testable import API

/// `POST /api/mobile/auth/logout`
@Suite struct LogoutTests {
  private func logOut(_ site: TestApplication, _ token: String?, query: String = "") -> Answer {
    site.send("POST", AccountPath.logout, token: token, query: query)
  }

  private func isIn(_ site: TestApplication, _ person: SignedIn) -> [Bool] {
    [
      site.summary(person.accessToken).status == 200,
      site.refresh(person.refreshToken).status == 200,
    ]
  }

  private func setPushToken(_ site: TestApplication, _ person: SignedIn, _ letter: Character) {
    let answer = site.send(
      "POST", AccountPath.pushToken, jsonText(["pushToken": pushTokenText(letter)]),
      token: person.accessToken)
    #expect(answer.status == 200)
  }

  private func pushTokens(_ site: TestApplication) -> String {
    site.sql("SELECT LEFT(token, 1) FROM push_tokens ORDER BY 1").replacing("\n", with: "")
  }

  @Test func loggingOutEndsTheAccessTokenAtOnce() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = logOut(site, ann.accessToken)
      #expect(answer.status == 200)
      #expect(answer.text == #"{"success":true}"#)
      #expect(site.sql("SELECT end_reason FROM sessions") == "logout")
      #expect(isIn(site, ann) == [false, false])
      #expect(
        logOut(site, ann.accessToken).isError(
          401, "unauthorized", "Invalid or expired access token"))
    }
  }

  @Test func loggingOutEndsOnlyTheSessionsOfTheDevice() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let again = try site.signIn()
      let elsewhere = try site.signIn(device: "device-2")
      let bob = try site.signUp(email: "bob@example.org")
      #expect(logOut(site, again.accessToken).status == 200)
      #expect(isIn(site, ann) == [false, false])
      #expect(isIn(site, again) == [false, false])
      #expect(isIn(site, elsewhere) == [true, true])
      #expect(isIn(site, bob) == [true, true])
    }
  }

  /// `sessions end ID` and `sessions end --email EMAIL` take effect at once.
  @Test func whatAnAdministratorEndsIsOutAtOnce() throws {
    try withApplication { site in
      let (ann, elsewhere) = (try site.signUp(), try site.signIn(device: "device-2"))
      let bob = try site.signUp(email: "bob@example.org")
      let database = Database(accountSettings(of: "companion", in: site.root))
      let accounts = AccountAdministration(
        records: database.records(at: site.now, from: .administrator))
      let session = site.sql(
        "SELECT s.id FROM sessions s JOIN devices d ON d.id = s.device_id WHERE client_device_id = 'device-2'"
      )
      #expect(try accounts.endSession(session) != nil)
      #expect(isIn(site, elsewhere) == [false, false])
      #expect(isIn(site, ann) == [true, true])
      #expect(site.requestCode(device: "device-2").status == 200)
      #expect(try accounts.endSessions(of: ann.email) != nil)
      #expect(site.verify(code: try site.mailedCode(), device: "device-2").status == 401)
      #expect(isIn(site, ann) == [false, false])
      #expect(isIn(site, bob) == [true, true])
    }
  }

  @Test func revokeAllEndsAllSessionsOfTheAccount() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let again = try site.signIn()
      let elsewhere = try site.signIn(device: "device-2")
      let bob = try site.signUp(email: "bob@example.org")
      let answer = logOut(site, again.accessToken, query: "revokeAll=true")
      #expect(answer.text == #"{"success":true}"#)
      for person in [ann, again, elsewhere] { #expect(isIn(site, person) == [false, false]) }
      #expect(isIn(site, bob) == [true, true])
      #expect(site.count("sessions WHERE end_reason = 'logout_all'") == 2)
    }
  }

  /// A thief who reads the mailbox asks for a code, and keeps it until the owner has signed out everywhere.
  @Test(arguments: ["revokeAll=true", "revokeAll=true&authenticators=true"])
  func signingOutEverywhereEndsTheMailedCodes(query: String) throws {
    try withApplication { site in
      _ = try site.signUp()
      let bob = try site.signUp(email: "bob@example.org", device: "device-bob")
      let owner = try site.signIn()
      #expect(site.requestCode(device: "device-thief").status == 200)
      let stolen = try site.mailedCode()
      #expect(site.requestCode(bob.email, device: bob.deviceID).status == 200)
      let code = try site.mailedCode()
      #expect(logOut(site, owner.accessToken, query: query).status == 200)
      #expect(site.verify(code: stolen, device: "device-thief").status == 401)
      #expect(site.verify(bob.email, code: code, device: bob.deviceID).status == 200)
    }
  }

  /// The bearer may be the thief's: it must not keep the owner out.
  @Test func withoutAProofSigningOutEverywhereEndsNoCode() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(600))
      #expect(site.requestCode().status == 200)
      let code = try site.mailedCode()
      #expect(logOut(site, ann.accessToken, query: "revokeAll=true").status == 200)
      #expect(site.verify(code: code).status == 200)
    }
  }

  @Test(arguments: ["revokeAll=false", "other=true", "xrevokeAll=true", "authenticators=false"])
  func otherQueriesEndOnlyTheSessionsOfTheDevice(query: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      #expect(logOut(site, ann.accessToken, query: query).status == 200)
      #expect(isIn(site, elsewhere) == [true, true])
    }
  }

  @Test func loggingOutRemovesThePushTokenOfTheDevice() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      let bob = try site.signUp(email: "bob@example.org")
      for (person, letter) in zip([ann, elsewhere, bob], "aeb") {
        setPushToken(site, person, letter)
      }
      #expect(logOut(site, ann.accessToken).status == 200)
      #expect(pushTokens(site) == "be")
    }
  }

  @Test func revokeAllRemovesThePushTokensOfAllDevicesOfTheAccount() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      let bob = try site.signUp(email: "bob@example.org")
      for (person, letter) in zip([ann, elsewhere, bob], "aeb") {
        setPushToken(site, person, letter)
      }
      #expect(logOut(site, ann.accessToken, query: "revokeAll=true").status == 200)
      #expect(pushTokens(site) == "b")
    }
  }

  @Test func signingInAfterALogoutWorks() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(logOut(site, ann.accessToken).status == 200)
      #expect(isIn(site, try site.signIn()) == [true, true])
      #expect(site.count("devices") == 1)
    }
  }

  @Test func aRefreshDuringALogoutGetsNoLiveSession() throws {
    try withApplication { site in
      for number in 1...5 {
        let person = try site.signUp(email: "user\(number)@example.org", device: "d\(number)")
        let answers = inParallel(8) { index in
          index == 0
            ? logOut(site, person.accessToken)
            : site.refresh(person.refreshToken, address: "192.0.2.\(number)")
        }
        #expect(answers.allSatisfy { [200, 401].contains($0.status) })
        for answer in answers {
          guard let access = answer.accessToken, let refresh = answer.refreshToken else { continue }
          #expect(site.summary(access).status == 401)
          #expect(site.refresh(refresh, address: "198.51.100.\(number)").status == 401)
        }
      }
    }
  }
}

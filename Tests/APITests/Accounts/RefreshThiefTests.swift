import Base
import Foundation
import Store
import Support
import Testing

@testable import API

/// A phone and a thief who has copied its refresh token.
@Suite struct RefreshThiefTests {
  private static let thief = "203.0.113.9"

  private func kinds(_ site: TestApplication) -> String {
    site.sql(
      "SELECT COALESCE(GROUP_CONCAT(kind), '') FROM outbox WHERE kind = 'refresh_reused'")
  }

  private func expectTheft(_ site: TestApplication) {
    #expect(site.sql("SELECT DISTINCT end_reason FROM sessions") == "reuse")
    #expect(site.count("audit_log WHERE event = 'refresh_reuse'") == 1)
    #expect(kinds(site) == "refresh_reused")
  }

  /// He refreshes half a minute before the phone, and does not use the tokens.
  @Test func aThiefWhoRefreshesFirstAndWaitsDoesNotStayBesideThePhone() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(3570))
      let stolen = site.refresh(ann.refreshToken, address: Self.thief)
      #expect(stolen.status == 200)
      site.advance(by: .seconds(30))
      let own = site.refresh(ann.refreshToken)
      #expect(own.status == 200)
      #expect(own.refreshToken != stolen.refreshToken)
      #expect(site.summary(try #require(own.accessToken)).status == 200)
      #expect(
        site.count("audit_log WHERE event = 'refresh_repeated' AND detail LIKE '%1 of 10'") == 1)
      #expect(kinds(site) == "")
      site.advance(by: .seconds(3570))
      let next = site.refresh(try #require(stolen.refreshToken), address: Self.thief)
      #expect(next.isError(401, "unauthorized", RefreshTests.deadText))
      expectTheft(site)
      #expect(site.refresh(try #require(own.refreshToken)).status == 401)
    }
  }

  /// He asks after the phone, before it has used its tokens.
  @Test func aThiefWhoRefreshesSecondEndsTheSessionAtThePhonesNextUse() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let own = site.refresh(ann.refreshToken)
      site.advance(by: .seconds(20))
      let stolen = site.refresh(ann.refreshToken, address: Self.thief)
      #expect(stolen.status == 200)
      #expect(site.summary(try #require(own.accessToken)).status == 401)
      expectTheft(site)
      #expect(site.summary(try #require(stolen.accessToken)).status == 401)
      #expect(site.refresh(try #require(stolen.refreshToken)).status == 401)
    }
  }

  /// Every kind of statement that checks a session also checks its branch.
  @Test(arguments: [
    ("GET", WalletPath.summary, ""), ("GET", AccountPath.devices, ""),
    ("DELETE", AccountPath.pushToken, ""), ("GET", "/api/v1/device-prefs", ""),
    ("POST", "/api/v1/device-prefs", #"{"push_enabled":true}"#), ("POST", AccountPath.logout, ""),
  ])
  func anAccessTokenOfADeadBranchEndsTheSession(
    method: String, path: String, body: String
  ) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let dead = site.refresh(ann.refreshToken)
      let living = site.refresh(ann.refreshToken, address: Self.thief)
      #expect(site.sql("SELECT generation, branch FROM sessions") == "2\t1")
      #expect(site.summary(ann.accessToken).status == 200, "the generation before is not dead")
      let answer = site.send(method, path, body, token: dead.accessToken)
      #expect(answer.status == 401, "\(answer.text)")
      expectTheft(site)
      #expect(site.summary(try #require(living.accessToken)).status == 401)
    }
  }

  /// One more rotation does not bring a dead branch back to life.
  @Test func aBranchStaysDeadAfterTheNextRotation() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let dead = site.refresh(ann.refreshToken, address: Self.thief)
      let own = site.refresh(ann.refreshToken)
      let next = site.refresh(try #require(own.refreshToken))
      #expect(site.summary(try #require(own.accessToken)).status == 200)
      #expect(site.summary(try #require(next.accessToken)).status == 200)
      #expect(site.summary(try #require(dead.accessToken)).status == 401)
      expectTheft(site)
    }
  }

  @Test func twoRotationsLaterADeadBranchIsRefusedOnly() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let dead = site.refresh(ann.refreshToken, address: Self.thief)
      var own = site.refresh(ann.refreshToken)
      for _ in 1...2 { own = site.refresh(try #require(own.refreshToken)) }
      #expect(site.summary(try #require(dead.accessToken)).status == 401)
      #expect(site.summary(try #require(own.accessToken)).status == 200)
    }
  }

  /// The row is older than the tokens: nobody has copied them.
  @Test func afterARestoreATokenOfALaterBranchIsNoTheft() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = site.refresh(ann.refreshToken)
      let later = site.refresh(ann.refreshToken, address: Self.thief)
      site.sql("UPDATE sessions SET branch = 0")
      #expect(site.summary(try #require(later.accessToken)).status == 401)
      #expect(site.refresh(try #require(later.refreshToken)).status == 401)
      #expect(site.sql("SELECT end_reason FROM sessions") == "NULL")
      #expect(kinds(site) == "")
    }
  }

  /// With a bearer of a dead branch, a registration counts as that of a stranger.
  @Test func aDeadBranchRenewsNoDevice() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let dead = site.refresh(ann.refreshToken)
      #expect(site.refresh(ann.refreshToken, address: Self.thief).status == 200)
      let answer = site.send(
        "POST", AccountPath.registerDevice,
        jsonText(["deviceId": "device-1", "deviceName": "Evil", "platform": "ios"]),
        token: dead.accessToken)
      #expect(answer.status == 200)
      #expect(site.sql("SELECT name, credential_hash FROM devices") == "Phone\tNULL")
    }
  }

  @Test func theEleventhLateAnswerInAGenerationEndsTheSession() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.refresh(ann.refreshToken).status == 200)
      for number in 1...10 {
        site.advance(by: .seconds(11))
        #expect(site.refresh(ann.refreshToken).status == 200, "\(number)")
      }
      #expect(site.count("audit_log WHERE event = 'refresh_repeated'") == 10)
      site.advance(by: .seconds(11))
      #expect(site.refresh(ann.refreshToken).status == 401)
      expectTheft(site)
    }
  }

  @Test func theNextGenerationMayLoseTenAnswersAgain() throws {
    try withApplication { site in
      var token = try site.signUp().refreshToken
      for _ in 1...2 {
        var answer = site.refresh(token)
        for _ in 1...10 {
          site.advance(by: .seconds(11))
          answer = site.refresh(token)
        }
        token = try #require(answer.refreshToken)
      }
      #expect(site.sql("SELECT generation, branch, first_branch FROM sessions") == "3\t20\t10")
      #expect(site.refresh(token).status == 200)
    }
  }

  /// A lost answer, a day without a network, another network, and three calls at once.
  @Test func anAppThatWasOfflineForADayGetsIn() throws {
    try withApplication { site in
      let ann = try site.signUp()
      #expect(site.refresh(ann.refreshToken).status == 200)
      site.advance(by: .seconds(86_400))
      let answers = inParallel(3) { _ in
        site.refresh(ann.refreshToken, address: "198.51.100.7")
      }
      #expect(Set(answers.map(\.refreshToken)).count == 1)
      for answer in answers {
        #expect(site.summary(try #require(answer.accessToken)).status == 200)
      }
      #expect(site.sql("SELECT branch FROM sessions") == "1")
      #expect(site.refresh(try #require(answers[0].refreshToken)).status == 200)
    }
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.250", true), ("192.0.2.1", "192.0.3.1", false),
    ("192.0.2.1", "::ffff:192.0.2.9", true),
    ("2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true),
    ("2001:db8:0:1::1", "2001:db8:0:2::1", false), ("192.0.2.1", "2001:db8::1", false),
  ])
  func callsAtOnceComeFromOneNetwork(first: String, second: String, isSame: Bool) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let tokens = [first, second].map { site.refresh(ann.refreshToken, address: $0).refreshToken }
      #expect((tokens[0] == tokens[1]) == isSame)
      #expect(site.sql("SELECT branch FROM sessions") == (isSame ? "0" : "1"))
    }
  }

  @Test func parallelRefreshesFromTwoNetworksGetOtherTokens() throws {
    try withApplication { site in
      let ann = try site.signUp()
      _ = site.refresh(ann.refreshToken)
      let answers = inParallel(8) { number in
        site.refresh(
          ann.refreshToken, address: number.isMultiple(of: 2) ? "192.0.2.1" : Self.thief)
      }
      let branch = Int(site.sql("SELECT branch FROM sessions"))!
      #expect(answers.allSatisfy { $0.status == 200 })
      #expect(branch >= 1)
      #expect(Set(answers.map(\.refreshToken)).count >= branch)
    }
  }
}

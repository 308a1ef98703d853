import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// `POST /api/mobile/auth/token/refresh`
@Suite struct RefreshTests {
  static let deadText = "Invalid or expired refresh token"

  enum Outcome { case rotated, same, branch, tooLate, reuse }

  struct Case: Sendable, CustomTestStringConvertible {
    /// The number of generations before the newest.
    let back: Int
    let confirmed: Bool
    /// The time since the newest token was made or, if it is confirmed, first used.
    let age: Duration
    let outcome: Outcome

    init(_ back: Int, confirmed: Bool, _ age: Duration, _ outcome: Outcome) {
      (self.back, self.confirmed, self.age, self.outcome) = (back, confirmed, age, outcome)
    }

    var testDescription: String {
      "g-\(back) \(confirmed ? "confirmed" : "unconfirmed") \(age): \(outcome)"
    }
  }

  /// All of a family but when its tokens were given out again.
  private static let family = """
    SELECT generation, branch, first_branch, confirmed, rotated_at, rotated_from, expires_at, ended_at
    FROM sessions
    """

  static let table = [
    Case(0, confirmed: false, .zero, .rotated), Case(0, confirmed: true, .zero, .rotated),
    Case(0, confirmed: false, .seconds(3600), .rotated),
    Case(0, confirmed: true, .seconds(86_400 * 29), .rotated),
    Case(1, confirmed: false, .zero, .same), Case(1, confirmed: false, .seconds(10), .same),
    Case(1, confirmed: false, .milliseconds(10_001), .branch),
    Case(1, confirmed: false, .seconds(61), .branch),
    Case(1, confirmed: false, .seconds(86_400 * 29), .branch),
    Case(1, confirmed: true, .zero, .same), Case(1, confirmed: true, .seconds(9), .same),
    Case(1, confirmed: true, .milliseconds(10_001), .tooLate),
    Case(1, confirmed: true, .seconds(60), .tooLate),
    Case(1, confirmed: true, .milliseconds(60_001), .reuse),
    Case(1, confirmed: true, .seconds(86_400 * 29), .reuse),
    Case(2, confirmed: false, .zero, .tooLate),
    Case(2, confirmed: false, .seconds(60), .tooLate),
    Case(2, confirmed: false, .milliseconds(60_001), .reuse),
    Case(2, confirmed: true, .zero, .tooLate), Case(2, confirmed: true, .seconds(5), .tooLate),
    Case(2, confirmed: true, .seconds(60), .tooLate),
    Case(2, confirmed: true, .milliseconds(60_001), .reuse),
    Case(3, confirmed: true, .seconds(30), .tooLate),
    Case(3, confirmed: true, .seconds(61), .reuse),
  ]

  @Test(arguments: table)
  func tokensAreRefreshedByTheTable(row: Case) throws {
    try withApplication { site in
      var tokens = [try site.signUp().refreshToken]
      var access = ""
      for _ in 1...3 {
        site.advance(by: .seconds(100))
        let answer = site.refresh(try #require(tokens.last))
        tokens.append(try #require(answer.refreshToken))
        access = try #require(answer.accessToken)
      }
      if row.confirmed { #expect(site.summary(access).status == 200) }
      let change = try site.instant(
        "SELECT IF(confirmed, last_used_at, rotated_at) FROM sessions JOIN devices d ON d.id = device_id"
      )
      site.advance(to: change + row.age)
      let before = site.sql(Self.family)
      let answer = site.refresh(tokens[tokens.count - 1 - row.back])
      let after = site.sql(Self.family)
      let generation = site.sql("SELECT generation FROM sessions")
      switch row.outcome {
      case .rotated:
        #expect(answer.status == 200)
        #expect(!tokens.contains(try #require(answer.refreshToken)))
        #expect(generation == "5")
      case .same:
        #expect(answer.status == 200)
        #expect(answer.refreshToken == tokens.last)
        #expect(after == before)
      case .branch:
        #expect(answer.status == 200)
        #expect(!tokens.contains(try #require(answer.refreshToken)))
        #expect(generation == "4")
        #expect(site.sql("SELECT branch FROM sessions") == "1")
        tokens.append(try #require(answer.refreshToken))
      case .tooLate:
        #expect(answer.isError(409, "conflict"), "\(answer.text)")
        #expect(after == before)
      case .reuse:
        #expect(answer.isError(401, "unauthorized", Self.deadText), "\(answer.text)")
        #expect(site.sql("SELECT end_reason FROM sessions") == "reuse")
      }
      let lives = row.outcome != .reuse
      #expect(site.refresh(try #require(tokens.last)).status == (lives ? 200 : 401))
    }
  }

  @Test func refreshingReturnsAPairOfTokens() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.advance(by: .seconds(1000))
      let answer = site.refresh(ann.refreshToken)
      let (access, refresh) = (
        try #require(answer.accessToken), try #require(answer.refreshToken)
      )
      #expect(
        answer.text
          == #"{"accessToken":"\#(access)","refreshToken":"\#(refresh)","expiresIn":3600}"#)
      #expect(answer.field("Cache-Control") == "no-store")
      #expect(access != ann.accessToken)
      #expect(site.summary(access).status == 200)
    }
  }

  @Test func theSameSuccessorComesWithANewAccessToken() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let first = site.refresh(ann.refreshToken)
      site.advance(by: .seconds(9))
      let again = site.refresh(ann.refreshToken)
      #expect(again.refreshToken == first.refreshToken)
      #expect(again.accessToken != first.accessToken)
      #expect(site.summary(try #require(first.accessToken)).status == 200)
      #expect(site.summary(try #require(again.accessToken)).status == 200)
      #expect(site.count("audit_log WHERE event = 'refresh_repeated'") == 1)
    }
  }

  @Test func onlyTheNewestAccessTokenConfirms() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let second = site.refresh(ann.refreshToken)
      site.advance(by: .seconds(5))
      #expect(site.summary(ann.accessToken).status == 200)
      #expect(site.sql("SELECT generation, confirmed FROM sessions") == "2\t0")
      #expect(site.refresh(ann.refreshToken).refreshToken == second.refreshToken)
      #expect(site.summary(try #require(second.accessToken)).status == 200)
      #expect(site.sql("SELECT generation, confirmed FROM sessions") == "2\t1")
      site.advance(by: .seconds(11))
      #expect(site.refresh(ann.refreshToken).status == 409)
    }
  }

  @Test(arguments: [
    ("GET", WalletPath.summary), ("GET", AccountPath.devices), ("DELETE", AccountPath.pushToken),
    ("GET", "/api/v1/device-prefs"),
  ])
  func everyRouteConfirms(method: String, path: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let second = site.refresh(ann.refreshToken)
      #expect(site.send(method, path, token: second.accessToken).status == 200)
      #expect(site.sql("SELECT generation, confirmed FROM sessions") == "2\t1")
    }
  }

  @Test func reuseEndsTheSessionOfTheAccountOnTheDevice() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let elsewhere = try site.signIn(device: "device-2")
      let bob = try site.signUp(email: "bob@example.org")
      let second = site.refresh(ann.refreshToken)
      #expect(site.summary(try #require(second.accessToken)).status == 200)
      site.advance(by: .seconds(61))
      #expect(site.refresh(ann.refreshToken).status == 401)
      for token in [ann.accessToken, second.accessToken] {
        #expect(site.summary(try #require(token)).status == 401)
      }
      #expect(site.refresh(try #require(second.refreshToken)).status == 401)
      for person in [elsewhere, bob] {
        #expect(site.summary(person.accessToken).status == 200)
        #expect(site.refresh(person.refreshToken).status == 200)
      }
    }
  }

  @Test func sixtyFourRefreshesAtOnceAreOneRotation() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answers = inParallel(64) { _ in site.refresh(ann.refreshToken) }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.status)))")
      #expect(Set(answers.map(\.refreshToken)).count == 1)
      #expect(site.sql("SELECT generation FROM sessions") == "2")
      #expect(site.count("audit_log WHERE event = 'refreshed'") == 1)
      let next = try #require(answers[0].refreshToken)
      #expect(site.refresh(next).status == 200)
    }
  }

  @Test func sixtyFourRefreshesAtTwoRespondersAreOneRotation() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let other = site.sibling()
      let body = jsonText(["refreshToken": ann.refreshToken])
      let answers = inParallel(64) { number in
        number.isMultiple(of: 2)
          ? site.refresh(ann.refreshToken) : other.send("POST", AccountPath.refresh, body)
      }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.status)))")
      #expect(Set(answers.map(\.refreshToken)).count == 1)
      #expect(site.sql("SELECT generation FROM sessions") == "2")
    }
  }

  /// A phone refreshes while its other requests run.
  @Test func usesAndRefreshesAtOnceAllSucceed() throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answers = inParallel(32) { number in
        number.isMultiple(of: 2)
          ? site.refresh(ann.refreshToken) : site.summary(ann.accessToken)
      }
      #expect(answers.allSatisfy { $0.status == 200 }, "\(Set(answers.map(\.text)))")
      #expect(site.sql("SELECT generation, ended_at FROM sessions") == "2\tNULL")
    }
  }

  @Test func aFamilyRotatesThirtyTimesAnHour() throws {
    try withApplication { site in
      var token = try site.signUp().refreshToken
      for _ in 1...30 { token = try #require(site.refresh(token).refreshToken) }
      site.advance(by: .seconds(600))
      let before = site.sql(Self.family)
      let refused = site.refresh(token)
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 3000)
      #expect(site.sql(Self.family) == before)
      let bob = try site.signUp(email: "bob@example.org")
      #expect(site.refresh(bob.refreshToken).status == 200)
      site.advance(by: .seconds(2999))
      #expect(site.refresh(token).status == 429)
      site.advance(by: .seconds(1))
      #expect(site.refresh(token).status == 200)
    }
  }

  @Test(arguments: [
    #"{}"#, #"{"refreshToken":null}"#, #"{"refreshToken":17}"#, #"{"refreshToken":["x"]}"#,
    "", "[]", "{",
  ])
  func aBodyWithoutTokenIs400(body: String) throws {
    try withApplication { site in
      let answer = site.send("POST", AccountPath.refresh, body)
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
    }
  }
}

import Base
import Cryptography
import Foundation
import Store
import Support
import Testing

@testable import API

/// `POST /api/mobile/auth/login/verify`
@Suite struct LoginCodeTests {
  /// A site with Ann's account on `device-0` and a code of hers for `device-1`.
  private func withCode(
    _ body: (_ site: TestApplication, _ code: String, _ challenge: String) throws -> Void
  ) throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      let challenge = try #require(site.requestCode().string("challenge"))
      try body(site, try site.mailedCode(), challenge)
    }
  }

  private func verify(_ site: TestApplication, _ members: [String: Any?]) -> Answer {
    site.send("POST", AccountPath.verify, jsonText(members))
  }

  /// A code of six digits that is not `code`.
  private func another(than code: String) -> String { code == "000000" ? "000001" : "000000" }

  @Test func aCodeSignsInWithTheEmailAddress() throws {
    try withCode { site, code, _ in
      let answer = verify(
        site, ["email": " Ann@Example.ORG", "deviceId": "device-1", "code": code])
      let row = site.sql("SELECT id, wallet_id FROM accounts").split(separator: "\t")
      let (access, refresh) = (
        try #require(answer.accessToken), try #require(answer.refreshToken)
      )
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"user":{"id":"\#(row[0])","email":"ann@example.org","name":"Ann","#
          + #""walletId":"\#(row[1])"},"tokens":{"accessToken":"\#(access)","#
          + #""refreshToken":"\#(refresh)","expiresIn":3600}}"#)
      #expect(answer.field("Cache-Control") == "no-store")
      #expect(site.summary(access).status == 200)
      #expect(tokenClaims(access)["deviceId"] as? String == "device-1")
    }
  }

  @Test func aCodeSignsInWithTheChallenge() throws {
    try withCode { site, code, challenge in
      let answer = verify(
        site,
        [
          "challenge": challenge, "code": code, "deviceId": "device-1",
          "deviceName": "Mac", "platform": "macos",
        ])
      #expect(answer.status == 200, "\(answer.text)")
      #expect(answer.string("user", "email") == "ann@example.org")
      #expect(
        site.sql("SELECT name, platform FROM devices WHERE client_device_id = 'device-1'")
          == "Mac\tmacos")
    }
  }

  @Test func theDeviceGetsTheDescriptionOfTheCodeRequest() throws {
    try withCode { site, code, challenge in
      #expect(
        verify(site, ["challenge": challenge, "code": code, "deviceId": "device-1"]).status == 200)
      #expect(
        site.sql(
          """
          SELECT a.email, d.name, d.platform FROM devices d JOIN accounts a ON a.id = d.account_id
          WHERE d.client_device_id = 'device-1'
          """) == "ann@example.org\tPhone\tios")
    }
  }

  @Test func twoAccountsOnOnePhoneHaveADeviceEach() throws {
    try withCode { site, code, _ in
      let bob = try site.signUp(email: "bob@example.org", device: "device-1")
      #expect(site.verify(code: code).status == 200)
      #expect(site.count("devices WHERE client_device_id = 'device-1'") == 2)
      #expect(site.summary(bob.accessToken).status == 200)
    }
  }

  enum Wrong: CaseIterable {
    case code, device, email, challenge, challengesDevice, spent, expired, dead, unknownEmail
    case blanks, longCode
  }

  @Test(arguments: Wrong.allCases)
  func everyRefusedSignInHasTheSameAnswer(wrong: Wrong) throws {
    try withCode { site, code, challenge in
      var body: [String: Any?] = ["email": "ann@example.org", "deviceId": "device-1", "code": code]
      switch wrong {
      case .code: body["code"] = another(than: code)
      case .device: body["deviceId"] = "device-0"
      case .email:
        _ = try site.signUp(email: "bob@example.org", device: "device-5")
        body["email"] = "bob@example.org"
      case .challenge:
        body["email"] = nil
        body["challenge"] = "unknown"
      case .challengesDevice:
        body["email"] = nil
        body["challenge"] = challenge
        body["deviceId"] = "device-2"
      case .spent:
        #expect(verify(site, body).status == 200)
        site.advance(by: .seconds(1))
      case .expired: site.advance(by: .seconds(300))
      case .dead: for _ in 1...5 { _ = site.verify(code: another(than: code)) }
      case .unknownEmail: body["email"] = "nobody@example.org"
      case .blanks: body["code"] = "      6"
      case .longCode: body["code"] = code + "0"
      }
      let sessions = site.count("sessions")
      let answer = verify(site, body)
      #expect(
        answer.isError(401, "unauthorized", wrongCode), "\(answer.text)")
      #expect(answer.text == #"{"error":"unauthorized","message":"\#(wrongCode)"}"#)
      #expect(site.count("sessions") == sessions)
    }
  }

  @Test func aCodeLivesFiveMinutes() throws {
    try withCode { site, code, _ in
      site.advance(by: .milliseconds(299_999))
      #expect(site.verify(code: code).status == 200)
    }
  }

  @Test func theFifthTryCanSucceed() throws {
    try withCode { site, code, _ in
      for _ in 1...4 { #expect(site.verify(code: another(than: code)).status == 401) }
      #expect(site.verify(code: code).status == 200)
    }
  }

  @Test func afterFiveTriesTheRightCodeIsDead() throws {
    try withCode { site, code, challenge in
      for number in 1...5 {
        let name =
          number.isMultiple(of: 2) ? ["challenge": challenge] : ["email": "ann@example.org"]
        let body = ["deviceId": "device-1", "code": another(than: code)].merging(name) { $1 }
        #expect(verify(site, body).status == 401)
      }
      #expect(site.verify(code: code).status == 401)
      #expect(
        verify(site, ["challenge": challenge, "deviceId": "device-1", "code": code]).status == 401)
      #expect(site.sql("SELECT attempts FROM login_codes") == "5")
    }
  }

  @Test func fortyNineGuessesAtOnceCountAsFive() throws {
    try withCode { site, code, _ in
      let answers = inParallel(49) { _ in site.verify(code: another(than: code)) }
      let refused = answers.filter {
        $0.isError(401, "unauthorized", wrongCode)
      }
      #expect(refused.count == 49, "\(Set(answers.map(\.text)))")
      #expect(site.sql("SELECT attempts FROM login_codes") == "5")
      #expect(site.count("audit_log WHERE event IN ('code_refused', 'code_dead')") == 5)
      #expect(site.verify(code: code).status == 401)
    }
  }

  /// Five guesses hit the live code; a network may make a hundred more attempts an hour.
  @Test func ofAHundredAndFiftyGuessesAtOnceFiveAreCompared() throws {
    try withCode { site, code, _ in
      let answers = inParallel(150) { _ in site.verify(code: another(than: code)) }
      let refused = answers.filter { $0.isError(401, "unauthorized", wrongCode) }
      let limited = answers.filter { $0.isError(429, "too_many_requests") }
      #expect(refused.count >= 100 && refused.count + limited.count == 150)
      #expect(site.sql("SELECT attempts FROM login_codes") == "5")
      #expect(site.count("audit_log WHERE event IN ('code_refused', 'code_dead')") == 5)
    }
  }

  /// The later requests find the code used.
  ///
  /// - Parameter device: device-0 belongs to the account before the sign-in, device-1 only after
  ///   it.
  @Test(arguments: ["device-0", "device-1"])
  func oneOfSixtyFourRightCodesAtOnceSignsIn(device: String) throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      _ = site.requestCode(device: device)
      let code = try site.mailedCode()
      let answers = inParallel(64) { _ in site.verify(code: code, device: device) }
      #expect(answers.filter { $0.status == 200 }.count == 1)
      let refused = answers.filter { $0.isError(401, "unauthorized", wrongCode) }
      #expect(refused.count == 63, "\(Set(answers.map(\.text)))")
      let tries = ["code-wrong-email", "code-wrong-known-device"].map { name in
        Int(site.sql("SELECT COALESCE(SUM(hits), 0) FROM rate_limits WHERE name = '\(name)'"))!
      }
      #expect(tries.reduce(0, +) <= 4, "\(tries)")
      #expect(site.count("sessions") == 2)
      #expect(site.count("audit_log WHERE event = 'sign_in'") == 2)
    }
  }

  /// The test knows the code, which is never mailed, because it sets the random numbers.
  @Test func theRightCodeOfAnAddressWithoutAccountIs401() throws {
    try withApplication { site in
      let known = site.sibling(random: { $0 == 4 ? [0, 0, 0, 0] : randomBytes($0) })
      let device = ["deviceId": "device-1", "deviceName": "Phone", "platform": "ios"]
      let body = device.merging(["email": "nobody@example.org"]) { $1 }
      #expect(known.send("POST", AccountPath.login, jsonText(body)).status == 200)
      let answer = site.verify("nobody@example.org", code: "000000")
      #expect(answer.isError(401, "unauthorized", wrongCode), "\(answer.text)")
      #expect(["accounts", "devices", "sessions"].map { site.count($0) } == [0, 0, 0])

      _ = try site.signUp(device: "device-0")
      let ann = device.merging(["email": "ann@example.org"]) { $1 }
      site.advance(by: .seconds(300))
      #expect(known.send("POST", AccountPath.login, jsonText(ann)).status == 200)
      #expect(try site.mailedCode() == "000000")
      #expect(site.verify(code: "000000").status == 200)
    }
  }

  @Test(
    arguments: [
      ("code", nil), ("code", ""), ("code", 123_456), ("code", NSNull()), ("email", nil),
      ("email", "ann"), ("email", 5), ("deviceId", nil), ("deviceId", ""), ("platform", "symbian"),
      ("deviceName", 5), ("challenge", 5),
    ] as [(String, (any Sendable)?)])
  func theErrorNamesAnInvalidMember(member: String, value: (any Sendable)?) throws {
    try withCode { site, code, _ in
      let body: [String: any Sendable] = [
        "email": "ann@example.org", "deviceId": "device-1", "code": code,
      ]
      let answer = site.send("POST", AccountPath.verify, jsonText(body, but: member, is: value))
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(member):") == true, "\(answer.text)")
      #expect(site.sql("SELECT attempts, spent_at FROM login_codes") == "0\tNULL")
    }
  }
}

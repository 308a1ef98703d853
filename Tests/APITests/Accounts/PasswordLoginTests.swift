import Foundation
import HTTP
import Logging
import Store
import Support
import Testing

@testable import API

/// `POST /api/mobile/auth/login/password`
@Suite struct PasswordLoginTests {
  private static let body: [String: any Sendable] = [
    "email": "ann@example.org", "deviceId": "device-1", "deviceName": "Phone", "platform": "ios",
    "password": "secret",
  ]
  private static let message = "We have mailed you a code. Type it here in place of the password."

  private func logIn(
    _ site: TestApplication, _ email: String = "ann@example.org", password: (any Sendable)?
  ) -> Answer {
    let body = Self.body.merging(["email": email]) { $1 }
    return site.send("POST", AccountPath.password, jsonText(body, but: "password", is: password))
  }

  @Test(
    arguments: [
      "secret", "", " ", "12345", "1234567", "12 345", "123456 x", "12345é", "１２３４５６",
      String(repeating: "x", count: 60_000), "a\u{0}b", 123_456, true, ["x"], ["a": "b"], NSNull(),
      nil,
    ] as [(any Sendable)?])
  func whatIsNoCodeGetsACodeMailed(password: (any Sendable)?) throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      let answer = logIn(site, password: password)
      #expect(answer.status == 400)
      #expect(answer.text == #"{"error":"code_mailed","message":"\#(Self.message)"}"#)
      #expect(site.count("outbox WHERE state = 'open'") == 1)
      #expect(logIn(site, password: try site.mailedCode()).status == 200)
    }
  }

  @Test func theMailedCodeSignsInLikeTheScreenOfCodes() throws {
    try withApplication { site in
      let ann = try site.signUp(device: "device-0")
      #expect(logIn(site, " ANN@example.org", password: "secret").status == 400)
      let answer = logIn(site, password: " \(try site.mailedCode())\n")
      #expect(answer.status == 200, "\(answer.text)")
      #expect(answer.string("user", "id") == ann.accountID)
      #expect(site.summary(try #require(answer.accessToken)).status == 200)
      #expect(site.refresh(try #require(answer.refreshToken)).status == 200)
      #expect(
        site.sql("SELECT name, platform FROM devices WHERE client_device_id = 'device-1'")
          == "Phone\tios")
    }
  }

  @Test func theCodeOfTheOtherScreenSignsInToo() throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      #expect(site.requestCode().status == 200)
      #expect(logIn(site, password: try site.mailedCode()).status == 200)
    }
  }

  @Test func everyAddressGetsTheSameAnswer() throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      let mailed = [logIn(site, password: "x"), logIn(site, "bob@example.org", password: "x")]
      #expect(mailed[0].text == mailed[1].text)
      #expect(mailed[0].response.fields.map(\.name) == mailed[1].response.fields.map(\.name))
      #expect(
        site.sql("SELECT recipient, state FROM outbox ORDER BY recipient")
          == "ann@example.org\topen\nbob@example.org\tsuppressed")
      let wrong = try site.mailedCode() == "000000" ? "000001" : "000000"
      for email in ["ann@example.org", "bob@example.org", "nobody@example.org"] {
        let refused = logIn(site, email, password: wrong)
        #expect(refused.isError(401, "unauthorized", wrongCode), "\(refused.text)")
      }
    }
  }

  @Test func passkeysAreNotOffered() throws {
    try withApplication { site in
      let ann = try site.signUp(device: "device-0")
      try site.addPasskey(Authenticator(), of: ann)
      #expect(logIn(site, password: "secret").isError(400, "code_mailed", Self.message))
      #expect(site.count("passkey_challenges WHERE spent_at IS NULL") == 0)
    }
  }

  @Test func theLimitsAreThoseOfCodes() throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      #expect(site.requestCode().status == 200)
      for _ in 1...2 { #expect(logIn(site, password: "secret").status == 400) }
      let refused = logIn(site, password: "secret")
      #expect(refused.isError(429, "too_many_requests"))
      #expect(refused.retryAfter == 900)
      for _ in 1...5 { #expect(logIn(site, password: "000000").status == 401) }
      #expect(logIn(site, password: try site.mailedCode()).status == 401)
    }
  }

  @Test func anUnknownDeviceMustBeDescribed() throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      let body = ["email": "ann@example.org", "password": "x", "deviceId": "device-1"]
      let answer = site.send("POST", AccountPath.password, jsonText(body))
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint == "deviceId: not_registered")
      #expect(site.count("outbox") == 0)
    }
  }

  @Test(
    arguments: [
      ("email", nil), ("email", "ann"), ("deviceId", nil), ("deviceId", ""), ("deviceName", 5),
      ("platform", "symbian"),
    ] as [(String, (any Sendable)?)])
  func theErrorNamesAnInvalidMember(member: String, value: (any Sendable)?) throws {
    try withApplication { site in
      let answer = site.send(
        "POST", AccountPath.password, jsonText(Self.body, but: member, is: value))
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(member):") == true, "\(answer.text)")
      #expect(site.count("login_codes") == 0)
    }
  }

  @Test func thePasswordIsNeitherLoggedNorStored() throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      let lines = LogLines()
      let application = Application.ofTests(
        on: accountSettings(of: "responder", in: site.root),
        log: Logger(label: "test") { _ in lines })
      for password in ["hunter2-hunter2", "000000"] {
        let body = jsonText(Self.body, but: "password", is: password)
        _ = application.send("POST", AccountPath.password, body)
        #expect(!lines.all.joined().contains(password))
        #expect(!lines.all.joined().contains("\(body.utf8.count)"))
        #expect(!site.rows("login_codes", "outbox", "audit_log").contains("hunter2"))
      }
      #expect(lines.all.count == 2)
    }
  }
}

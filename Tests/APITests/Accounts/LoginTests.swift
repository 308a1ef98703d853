import Foundation
import Store
import Support
import Synchronization
import Testing

@testable import API

/// `POST /api/mobile/auth/login`
@Suite struct LoginTests {
  private static let body: [String: any Sendable] = [
    "email": "ann@example.org", "deviceId": "device-1", "deviceName": "Phone", "platform": "ios",
  ]

  @Test(arguments: ["ann@example.org", " ANN@Example.org ", "nobody@example.org"])
  func everyAddressGetsAChallenge(email: String) throws {
    try withApplication { site in
      _ = try site.signUp()
      let answer = site.requestCode(email)
      let challenge = try #require(answer.string("challenge"))
      #expect(answer.status == 200)
      #expect(
        answer.text
          == #"{"challenge":"\#(challenge)","method":"email","message":"\#(codeSent)"}"#
      )
      #expect(answer.field("Cache-Control") == "no-store")
      #expect(challenge.utf8.count >= 22)
    }
  }

  @Test func knownAndUnknownAddressesWriteTheSameRows() throws {
    try withApplication { site in
      _ = try site.signUp(email: "known@example.org", device: "device-0")
      let answers = ["known@example.org", "other@example.org"].map { site.requestCode($0) }
      #expect(answers[0].response.fields.map(\.name) == answers[1].response.fields.map(\.name))
      #expect(answers[0].text.count == answers[1].text.count)
      #expect(
        site.sql(
          """
          SELECT email, client_device_id, device_name, platform, attempts, spent_at,
            LENGTH(code_mac), LENGTH(challenge_hash) FROM login_codes ORDER BY email
          """)
            == """
            known@example.org\tdevice-1\tPhone\tios\t0\tNULL\t32\t32
            other@example.org\tdevice-1\tPhone\tios\t0\tNULL\t32\t32
            """)
      #expect(
        site.sql(
          "SELECT recipient, state, sealed IS NULL, attempts FROM outbox ORDER BY recipient")
          == "known@example.org\topen\t0\t0\nother@example.org\tsuppressed\t1\t0")
      #expect(
        site.sql("SELECT account_id IS NULL FROM audit_log WHERE event = 'code_requested'")
          == "0\n1")
      #expect(
        site.sql(
          "SELECT name, hits FROM rate_limits WHERE name LIKE 'code-%' ORDER BY name, subject")
            == """
            code-address\t2
            code-day\t1
            code-day\t1
            code-day-network\t1
            code-day-network\t1
            code-device\t1
            code-device\t1
            code-email\t1
            code-email\t1
            """)
    }
  }

  /// A sign-in request with its expected status.
  private struct Call {
    var path = AccountPath.login
    var members: [String: any Sendable] = [:]
    var status = 200

    static let all = [
      Call(), Call(members: ["method": "email"]),
      Call(path: AccountPath.password, members: ["password": "secret"], status: 400),
      // One with the code that was just mailed, and one on a device without a code.
      Call(path: AccountPath.password, members: ["password": "123456"], status: 401),
      Call(
        path: AccountPath.password, members: ["password": "123456", "deviceId": "device-2"],
        status: 401),
    ]
  }

  /// The same statements run, so the time does not reveal whether an account has the address.
  @Test func knownAndUnknownAddressesRunTheSameStatements() throws {
    try withApplication { site in
      let ann = try site.signUp(email: "known@example.org", device: "device-0")
      try site.addPasskey(Authenticator(), of: ann)
      site.sql("DELETE FROM passkeys")
      let commands = Mutex<[MariaDBProxy.Command]>([])
      let proxy = MariaDBProxy(accountSettings(of: "responder", in: site.root)) { command in
        commands.withLock { $0.append(command) }
        return .pass
      }
      let responder = Application.ofTests(on: proxy.settings)
      func statements(for email: String, _ call: Call) -> [MariaDBProxy.Command] {
        commands.withLock { $0 = [] }
        let body = Self.body.merging(["email": email].merging(call.members) { $1 }) { $1 }
        let answer = responder.send("POST", call.path, jsonText(body))
        #expect(answer.status == call.status, "\(answer.text)")
        return commands.withLock { $0 }
      }
      for call in Call.all { _ = statements(for: "first@example.org", call) }  // prepares them
      let counts = Call.all.map { call in
        let known = statements(for: "known@example.org", call)
        #expect(known.count > 5)
        #expect(known == statements(for: "other@example.org", call), "\(call)")
        return known.count
      }
      // Only a sign-in without a method looks for passkeys, with one more statement.
      #expect(counts[0] == counts[1] + 1)
      #expect(counts[2] == counts[1])
    }
  }

  @Test func codesHaveSixDigitsAndAreNotInTheDatabase() throws {
    try withApplication { site in
      _ = try site.signUp()
      let challenge = try #require(site.requestCode().string("challenge"))
      let code = try site.mailedCode()
      #expect(code.wholeMatch(of: /[0-9]{6}/) != nil)
      #expect(!site.sql("SELECT sealed FROM outbox").contains(code))
      for form in ["'\(code)'", "CONCAT('ann@example.org', '\(code)')"] {
        #expect(site.count("login_codes WHERE code_mac = UNHEX(SHA2(\(form), 256))") == 0)
      }
      #expect(
        site.count("login_codes WHERE challenge_hash = UNHEX(SHA2('\(challenge)', 256))") == 1)
    }
  }

  @Test func codesDiffer() throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      var codes: Set<String> = []
      for number in 1...8 {
        #expect(site.requestCode(device: "device-\(number)").status == 200)
        codes.insert(try site.mailedCode())
      }
      #expect(codes.count >= 7)
    }
  }

  @Test(arguments: ["ann@example.org", "nobody@example.org"])
  func anUnknownDeviceMustBeDescribed(email: String) throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      let undescribed = [
        site.requestCode(email, name: nil), site.requestCode(email, platform: nil),
        site.requestCode(email, name: nil, platform: nil),
      ]
      for answer in undescribed {
        #expect(
          answer.isError(
            400, "bad_request",
            "This device is not registered yet. Restart the app and try again."))
      }
      #expect(site.count("login_codes") == 0)
      try site.registerDevice()
      #expect(site.requestCode(email, name: nil, platform: nil).status == 200)
    }
  }

  @Test(
    arguments: [
      ("email", nil), ("email", ""), ("email", "ann"), ("email", 5), ("email", NSNull()),
      ("email", "a@b@c"), ("deviceId", nil), ("deviceId", ""), ("deviceId", 5),
      ("deviceName", 5), ("platform", "symbian"),
    ] as [(String, (any Sendable)?)])
  func theErrorNamesAnInvalidMember(member: String, value: (any Sendable)?) throws {
    try withApplication { site in
      let answer = site.send(
        "POST", AccountPath.login, jsonText(Self.body, but: member, is: value))
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(member):") == true, "\(answer.text)")
      #expect(site.count("login_codes") == 0)
    }
  }

  @Test(arguments: ["ann@example.org", "nobody@example.org"])
  func anAddressGetsThreeCodesOnADeviceInFifteenMinutes(email: String) throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      for _ in 1...3 { #expect(site.requestCode(email).status == 200) }
      let before = site.rows("login_codes", "outbox", "audit_log", "rate_limits")
      site.advance(by: .seconds(100))
      let refused = site.requestCode(email.uppercased())
      #expect(refused.isError(429, "too_many_requests"), "\(refused.text)")
      #expect(refused.retryAfter == 800)
      #expect(site.rows("login_codes", "outbox", "audit_log", "rate_limits") == before)
      #expect(site.requestCode(email, device: "device-2").status == 200)
      site.advance(by: .seconds(799))
      #expect(site.requestCode(email).retryAfter == 1)
      site.advance(by: .seconds(1))
      #expect(site.requestCode(email).status == 200)
    }
  }

  @Test func anAddressGetsTenCodesInFifteenMinutes() throws {
    try withApplication { site in
      _ = try site.signUp(device: "device-0")
      for number in 1...10 {
        let answer = site.requestCode(device: "device-\(number)")
        #expect(answer.status == 200)
      }
      site.advance(by: .seconds(300))
      let refused = site.requestCode(device: "device-11")
      #expect(refused.isError(429, "too_many_requests"))
      #expect(refused.retryAfter == 600)
      #expect(site.requestCode("bob@example.org", address: "192.0.2.11").status == 200)
      site.advance(by: .seconds(600))
      #expect(site.requestCode(device: "device-11").status == 200)
    }
  }

  @Test func aNetworkAddressRequestsTwentyCodesAnHour() throws {
    try withApplication { site in
      for number in 1...20 {
        #expect(site.requestCode("user\(number)@example.org").status == 200)
      }
      site.advance(by: .seconds(1800))
      let refused = site.requestCode("user21@example.org")
      #expect(refused.isError(429, "too_many_requests"))
      #expect(refused.retryAfter == 1800)
      #expect(site.requestCode("user21@example.org", address: "198.51.100.7").status == 200)
      site.advance(by: .seconds(1799))
      #expect(site.requestCode("user22@example.org").status == 429)
      site.advance(by: .seconds(1))
      #expect(site.requestCode("user22@example.org").status == 200)
    }
  }

  @Test func thirtyRequestsAtOnceGetThreeCodes() throws {
    try withApplication { site in
      _ = try site.signUp()
      let answers = inParallel(30) { _ in site.requestCode() }
      #expect(answers.filter { $0.status == 200 }.count == 3)
      #expect(answers.filter { $0.isError(429, "too_many_requests") }.count == 27)
      #expect(site.count("outbox") == 3)
    }
  }

  @Test func aNewCodeReplacesTheOldOne() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.requestCode().status == 200)
      let old = try site.mailedCode()
      var new = old
      while new == old {
        site.advance(by: .seconds(900))
        #expect(site.requestCode().status == 200)
        new = try site.mailedCode()
      }
      #expect(site.count("login_codes") == 1)
      #expect(site.verify(code: old).status == 401)
      #expect(site.verify(code: new).status == 200)
    }
  }

  @Test func aNewCodeAllowsFiveMoreTries() throws {
    try withApplication { site in
      _ = try site.signUp()
      #expect(site.requestCode().status == 200)
      for _ in 1...5 { #expect(site.verify(code: "no code").status == 401) }
      #expect(site.requestCode().status == 200)
      for _ in 1...4 { #expect(site.verify(code: "no code").status == 401) }
      #expect(site.verify(code: try site.mailedCode()).status == 200)
    }
  }
}

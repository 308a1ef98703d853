import Cryptography
import Foundation
import Support
import Testing

@testable import API

/// `POST /api/mobile/auth/register`
@Suite struct SignUpTests {
  static let body: [String: any Sendable] = [
    "email": "user@example.com", "name": "John Michael Doe", "deviceId": "device-123",
    "deviceName": "iPhone 15 Pro", "platform": "ios",
  ]
  static let tables = ["accounts", "devices", "sessions", "device_preferences", "push_tokens"]

  private func register(
    _ site: TestApplication, _ member: String = "email", _ value: (any Sendable)?
  ) -> Answer {
    site.send("POST", AccountPath.register, jsonText(Self.body, but: member, is: value))
  }

  private func counts(_ site: TestApplication) -> [Int] { Self.tables.map { site.count($0) } }

  @Test func signingUpReturns201WithUserAndTokens() throws {
    try withApplication { site in
      let answer = register(site, "email", "  User@Example.COM ")
      let (id, walletID, access, refresh) = (
        try #require(answer.string("user", "id")), try #require(answer.string("user", "walletId")),
        try #require(answer.accessToken), try #require(answer.refreshToken)
      )
      #expect(answer.status == 201)
      #expect(
        answer.text
          == #"{"user":{"id":"\#(id)","email":"user@example.com","name":"John Michael Doe","#
          + #""walletId":"\#(walletID)"},"tokens":{"accessToken":"\#(access)","#
          + #""refreshToken":"\#(refresh)","expiresIn":3600},"#
          + #""message":"\#(Messages.english.confirmAddress)"}"#)
      #expect(UUID(uuidString: id) != nil)
      #expect(walletID.wholeMatch(of: /wsim_[A-Za-z0-9]{12}/) != nil)
      #expect(answer.field("Cache-Control") == "no-store")
      #expect(site.summary(access).status == 200)
      #expect(site.refresh(refresh).status == 200)
    }
  }

  @Test func theDeviceBelongsToTheNewAccount() throws {
    try withApplication { site in
      let answer = register(site, "email", "user@example.com")
      let device = site.sql("SELECT id FROM devices")
      #expect(
        site.sql("SELECT account_id, client_device_id, name, platform FROM devices")
          == "\(answer.string("user", "id") ?? "")\tdevice-123\tiPhone 15 Pro\tios")
      #expect(site.sql("SELECT device_id, version FROM device_preferences") == "\(device)\t0")
      #expect(site.sql("SELECT device_id, generation FROM sessions") == "\(device)\t1")
    }
  }

  @Test(arguments: [
    ("o.o@example.org", "oo@example.org"), ("ann+a@example.org", "ann@example.org"),
    ("ann@xn--exmple-cua.org", "ann@example.org"), ("0@example.org", "o@example.org"),
  ])
  func addressesThatLookAlikeAreDifferentAccounts(one: String, other: String) throws {
    try withApplication { site in
      let first = register(site, "email", one)
      let second = register(site, "email", other)
      #expect(first.status == 201)
      #expect(second.status == 201, "\(second.text)")
      #expect(first.string("user", "id") != second.string("user", "id"))
      let stored = site.sql("SELECT LOWER(HEX(email)) FROM accounts")
      let sent = [one, other].map { hexEncoded(Array($0.utf8)) }
      #expect(Set(stored.split(separator: "\n").map(String.init)) == Set(sent))
    }
  }

  @Test(arguments: [
    "é@example.org", "e\u{301}@example.org", "straße@example.org", "аnn@example.org",
    "ａnn@example.org", "an\u{200B}n@example.org", "\u{212A}im@example.org", "ann@exämple.org",
  ])
  func anAddressBeyondASCIIIsRefusedInWords(email: String) throws {
    try withApplication { site in
      let answer = register(site, "email", email)
      #expect(answer.status == 400)
      #expect(answer.string("details", "reason") == "not_ascii")
      #expect(site.count("accounts") == 0)
    }
  }

  @Test(arguments: ["user@example.com", "USER@example.com", " user@EXAMPLE.com\n"])
  func aKnownAddressIs409(email: String) throws {
    try withApplication { site in
      #expect(register(site, "email", "user@example.com").status == 201)
      let before = counts(site)
      let answer = site.send(
        "POST", AccountPath.register,
        jsonText([
          "email": email, "name": "Else", "deviceId": "another", "deviceName": "X",
          "platform": "ios",
        ]))
      #expect(
        answer.isError(
          409, "conflict", "An account with this email already exists. Use login instead."))
      #expect(counts(site) == before)
    }
  }

  @Test func theSixthAccountOnADeviceIs409() throws {
    try withApplication { site in
      for number in 1...5 {
        #expect(register(site, "email", "user\(number)@example.org").status == 201)
      }
      let before = counts(site)
      #expect(
        register(site, "email", "user6@example.org").isError(
          409, "device_conflict", "This device is already registered. Use login instead."))
      #expect(counts(site) == before)
      _ = try site.signUp(email: "user6@example.org", device: "another")
    }
  }

  @Test func twelveSignUpsAtOnceMakeFiveAccountsOnADevice() throws {
    try withApplication { site in
      let answers = inParallel(12) { register(site, "email", "user\($0)@example.org") }
      #expect(answers.filter { $0.status == 201 }.count == 5, "\(answers.map(\.text))")
      let others = answers.filter { $0.status != 201 }
      #expect(others.allSatisfy { $0.isError(409, "device_conflict") }, "\(others.map(\.text))")
      #expect(site.count("accounts") == 5)
      #expect(site.count("devices") == 5)
    }
  }

  @Test func eightSignUpsAtOnceMakeOneAccountOfAnAddress() throws {
    try withApplication { site in
      let answers = inParallel(8) { register(site, "deviceId", "device-\($0)") }
      #expect(answers.filter { $0.status == 201 }.count == 1, "\(answers.map(\.text))")
      #expect(answers.filter { $0.isError(409, "conflict") }.count == 7)
      #expect(site.count("accounts") == 1)
      #expect(site.count("devices") == 1)
    }
  }

  @Test(arguments: ["deviceName", "platform"])
  func anUnknownDeviceMustBeDescribed(missing: String) throws {
    try withApplication { site in
      let before = counts(site)
      let answer = register(site, missing, nil)
      #expect(
        answer.isError(
          400, "bad_request",
          "This device is not registered yet. Restart the app and try again."))
      #expect(counts(site) == before)
    }
  }

  @Test func aRegisteredDeviceNeedsNoDescription() throws {
    try withApplication { site in
      try site.registerDevice("device-123", name: "Tablet", platform: "android")
      let answer = site.send(
        "POST", AccountPath.register,
        #"{"email":"user@example.com","name":"John Doe","deviceId":"device-123"}"#)
      #expect(answer.status == 201, "\(answer.text)")
      #expect(site.sql("SELECT name, platform FROM devices") == "Tablet\tandroid")
    }
  }

  @Test(
    arguments: [
      ("email", nil), ("email", ""), ("email", "  "), ("email", "user"), ("email", "@example.com"),
      ("email", "user@"), ("email", "@"), ("email", "a@b@c"), ("email", "a b@example.com"),
      ("email", "a\u{A0}b@example.com"), ("email", "a\nb@example.com"), ("email", "a@b\u{0}"),
      ("email", "<user@example.com>"), ("email", "a,b@example.com"), ("email", "a;b@example.com"),
      ("email", "a\u{2028}b@example.com"), ("email", 17), ("email", NSNull()),
      ("email", ["user@example.com"]),
      ("email", String(repeating: "a", count: 243) + "@example.com"),
      ("email", String(repeating: "é", count: 122) + "@example.com"),
      ("name", nil), ("name", ""), ("name", " \t "), ("name", "a\u{0}b"), ("name", false),
      ("name", String(repeating: "x", count: 201)),
      ("deviceId", nil), ("deviceId", ""), ("deviceId", String(repeating: "x", count: 129)),
      ("deviceId", "a\u{1}"), ("deviceId", 5),
      ("deviceName", String(repeating: "x", count: 201)), ("deviceName", 5),
      ("platform", ""), ("platform", "symbian"), ("platform", 5),
    ] as [(String, (any Sendable)?)])
  func theErrorNamesAnInvalidMember(member: String, value: (any Sendable)?) throws {
    try withApplication { site in
      let answer = register(site, member, value)
      #expect(answer.isError(400, "bad_request"), "\(answer.text)")
      #expect(answer.complaint?.hasPrefix("\(member):") == true, "\(answer.text)")
      #expect(counts(site) == [0, 0, 0, 0, 0])
    }
  }

  /// Characters that separate addresses or begin a comment in a `To` field. With a combining mark
  /// after them Swift sees other characters, but a mail has the same bytes.
  @Test(arguments: ["<", ">", ",", ";", ":", "\"", "(", ")", "[", "]", "\\", "@", " "])
  func charactersWithAMeaningInMailFieldsAreRefused(mark: String) throws {
    try withApplication { site in
      for text in ["a\(mark)b@example.com", "a\(mark)\u{301}b@example.com"] {
        let answer = register(site, "email", text)
        #expect(answer.isError(400, "bad_request"), "\(text.debugDescription) \(answer.text)")
      }
    }
  }

  @Test(
    arguments: [
      ("email", String(repeating: "a", count: 242) + "@example.com"), ("email", "a@b"),
      ("email", "o'hara+x_y-z.1@example.com"), ("name", String(repeating: "é", count: 200)),
      ("name", "  Ann  Lee  "), ("deviceId", String(repeating: "x", count: 128)),
      ("deviceName", NSNull()), ("deviceName", ""), ("deviceName", " \n"), ("unknown", 1),
    ] as [(String, any Sendable)])
  func valuesAtTheLimitsAreAccepted(member: String, value: any Sendable) throws {
    try withApplication { site in
      try site.registerDevice("device-123")
      let answer = register(site, member, value)
      #expect(answer.status == 201, "\(answer.text)")
    }
  }

  /// The app sends its old token with every request; a 401 would start its refresh loop.
  @Test(arguments: ["Bearer garbage", "Bearer", "Basic eDp5", "Bearer ", "x"])
  func routesThatNeedNoSignInIgnoreAnInvalidAuthorization(value: String) throws {
    try withApplication { site in
      let fields = [(name: "Authorization", value: value)]
      let ann = try site.signUp()
      let device: [String: any Sendable] = [
        "deviceId": "device-2", "deviceName": "Phone", "platform": "ios",
      ]
      func post(_ path: String, _ more: [String: any Sendable]) -> Answer {
        site.send(
          "POST", path, jsonText(device.merging(more) { $1 }), fields: fields)
      }
      #expect(post(AccountPath.registerDevice, [:]).status == 200)
      #expect(
        post(AccountPath.register, ["email": "bob@example.org", "name": "Bob"]).status == 201)
      #expect(post(AccountPath.login, ["email": ann.email]).status == 200)
      let code = try site.mailedCode()
      #expect(post(AccountPath.verify, ["email": ann.email, "code": code]).status == 200)
      #expect(post(AccountPath.refresh, ["refreshToken": ann.refreshToken]).status == 200)
    }
  }
}

import Base
import HTTP
import Logging
import Store
import Support
import Testing

@testable import API

/// `message` is in the phone's language. Members for programs do not depend on the language.
@Suite struct MessageLanguageTests {
  private static let german = [(name: "Accept-Language", value: "de-AT,de;q=0.9,en;q=0.8")]

  private struct Asked: Sendable, CustomTestStringConvertible {
    let method: String
    let path: String
    var body = ""
    var token: String?
    let status: Int
    let text: @Sendable (Messages) -> String
    var testDescription: String { "\(method) \(path) \(body)" }
  }

  private static let refusals = [
    Asked(method: "GET", path: WalletPath.summary, status: 401, text: \.noCredentials),
    Asked(
      method: "GET", path: WalletPath.summary, token: "nonsense", status: 401, text: \.invalidToken),
    Asked(
      method: "POST", path: AccountPath.refresh, body: #"{"refreshToken":"x"}"#, status: 401,
      text: \.invalidRefreshToken),
    Asked(
      method: "POST", path: AccountPath.register, body: #"{"email":"ann","name":"Ann"}"#,
      status: 400, text: \.notAnEmailAddress),
    Asked(
      method: "POST", path: AccountPath.register, body: #"{"email":"änn@example.org"}"#,
      status: 400, text: \.addressNotASCII),
    Asked(
      method: "POST", path: AccountPath.register, body: #"{"name":"Ann"}"#, status: 400,
      text: \.email.request),
    Asked(
      method: "POST", path: AccountPath.registerDevice, body: "{}", status: 400,
      text: { $0.notSent("deviceId") }),
    Asked(
      method: "POST", path: AccountPath.registerDevice,
      body: #"{"deviceId":"d","deviceName":"D","platform":"windows"}"#, status: 400,
      text: { $0.unknownPlatform("ios, android, macos") }),
    Asked(method: "POST", path: AccountPath.login, body: "{", status: 400, text: \.invalidJSON),
    Asked(
      method: "POST", path: AccountPath.login,
      body: #"{"email":"ann@example.org","deviceId":"new"}"#, status: 400, text: \.unknownDevice),
    Asked(
      method: "POST", path: AccountPath.password,
      body: #"{"email":"ann@example.org","password":"x","deviceId":"d","deviceName":"D","#
        + #""platform":"ios"}"#, status: 400, text: \.codeMailed),
    Asked(
      method: "POST", path: AccountPath.verify,
      body: #"{"email":"ann@example.org","code":"123456","deviceId":"d"}"#, status: 401,
      text: \.wrongCode),
    Asked(method: "GET", path: "/api/mobile/nothing", status: 404, text: \.unknownRequest),
    Asked(method: "PUT", path: AccountPath.login, status: 405, text: \.unknownRequest),
    Asked(method: "GET", path: "/api/enrollment/start/x", status: 401, text: \.noCredentials),
  ]

  @Test(arguments: refusals)
  private func aGermanPhoneIsToldInGermanAndItsProgramTheSame(asked: Asked) throws {
    try withApplication { site in
      func send(_ fields: [(name: String, value: String)]) -> Answer {
        site.send(asked.method, asked.path, asked.body, token: asked.token, fields: fields)
      }
      let english = send([])
      let german = send(Self.german)
      #expect(english.string("message") == asked.text(.english))
      #expect(german.string("message") == asked.text(.german))
      for answer in [english, german] {
        #expect(answer.status == asked.status)
        #expect(answer.isError(asked.status, english.string("error") ?? ""), "\(answer.text)")
        #expect(answer.complaint == english.complaint)
        #expect(answer.field("WWW-Authenticate") == english.field("WWW-Authenticate"))
        #expect(answer.field("Allow") == english.field("Allow"))
        #expect(answer.field("Vary") == "Accept-Language")
      }
      #expect(german.field("Content-Language") == "de")
      #expect(english.field("Content-Language") == "en")
    }
  }

  @Test func theSignedInAreToldWhatIsNoLongerThere() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for (method, path, text) in [
        ("DELETE", "\(WalletPath.cards)/x", Messages.german.cardGone),
        ("DELETE", "/api/mobile/enrollment/x", Messages.german.enrollmentGone),
        ("POST", "/api/mobile/enrollment/start/x", Messages.german.unknownBank),
        ("DELETE", "\(AccountPath.devices)/x", Messages.german.deviceGone),
        ("DELETE", "\(AccountPath.passkeys)/x", Messages.german.passkeyGone),
      ] {
        let answer = site.send(method, path, token: ann.accessToken, fields: Self.german)
        #expect(answer.isError(404, "not_found", text), "\(path) \(answer.text)")
      }
    }
  }

  @Test func whoIsTooFastIsToldToWait() throws {
    try withApplication { site in
      func ask(_ fields: [(name: String, value: String)]) -> Answer {
        site.send(
          "POST", AccountPath.login,
          #"{"email":"ann@example.org","deviceId":"d","deviceName":"D","platform":"ios"}"#,
          fields: fields)
      }
      for _ in 1...3 { #expect(ask([]).status == 200) }
      let german = ask(Self.german)
      #expect(german.isError(429, "too_many_requests", Messages.german.tooManyRequests))
      #expect(ask([]).isError(429, "too_many_requests", Messages.english.tooManyRequests))
      #expect((german.retryAfter ?? 0) > 0)
    }
  }

  @Test(arguments: [
    ("de", "de"), ("fr-CA, fr;q=0.9", "fr"), ("sv, es;q=0.5, de;q=0.4", "es"), ("fa-IR", "fa"),
    ("en-GB,de;q=0.9", "en"), ("sv", "en"), ("*", "en"), ("", "en"), ("de;q=0", "en"),
    ("🇩🇪", "en"),
  ])
  func theLanguageIsTheOneThatThePhonePrefers(accepted: String, tag: String) throws {
    try withApplication { site in
      let answer = site.send(
        "GET", WalletPath.summary, fields: [(name: "Accept-Language", value: accepted)])
      let language = try #require(Language(rawValue: tag))
      #expect(answer.isError(401, "unauthorized", Messages(in: language).noCredentials))
      #expect(answer.field("Content-Language") == tag)
    }
  }

  @Test func whatASignInSaysIsInTheLanguageToo() throws {
    try withApplication { site in
      let ann = try site.signUp()
      func ask(_ body: String, _ email: String = "ann@example.org") -> Answer {
        site.send(
          "POST", AccountPath.login,
          #"{"email":"\#(email)","deviceId":"d","deviceName":"D","platform":"ios"\#(body)}"#,
          fields: Self.german)
      }
      for email in ["ann@example.org", "nobody@example.org"] {
        let mailed = ask("", email)
        #expect(mailed.string("method") == "email")
        #expect(mailed.string("message") == Messages.german.codeSent)
        #expect(mailed.field("Content-Language") == "de")
        #expect(mailed.field("Vary") == "Accept-Language")
      }
      try site.addPasskey(Authenticator(), of: ann)
      let offer = ask("")
      #expect(offer.string("method") == "passkey")
      #expect(offer.string("message") == Messages.german.usePasskey)
      #expect(offer.field("Content-Language") == "de")
    }
  }

  @Test func whatTheAppShowsOfAnEnrollmentIsInTheLanguageOfTheBrowser() throws {
    try withBank { site, ann, bank throws in
      bank.play { $0.faults[.authorize] = .refusal("server_error") }
      let location = try #require(bank.consent(to: try site.startEnrollment(by: ann).url))
      let parts = location.dropFirst(TestApplication.publicURL.count).split(separator: "?")
      let answer = site.send(
        "GET", String(parts[0]), query: String(parts[1]), fields: Self.german)
      let url = try #require(answer.field("Location"))
      #expect(failedEnrollment("bank_unavailable", in: url))
      #expect(url.hasSuffix("&message=\(Messages.german.bankUnavailable.percentEncoded)"))
      #expect(answer.field("Vary") == "Accept-Language")
    }
  }

  @Test(arguments: [
    ("GET", "/api/v1/device-prefs"), ("GET", "/api/v1/nothing"),
    ("POST", "/api/app-attestation/challenge"), ("POST", "/api/push/register"),
    ("POST", "/api/auth/exchange"), ("POST", "/register"), ("GET", "/nothing"),
    ("GET", "/api/pair/nothing"),
  ])
  func otherFamiliesStayInEnglish(method: String, path: String) throws {
    try withApplication { site in
      let english = site.send(method, path)
      let german = site.send(method, path, fields: Self.german)
      #expect(english.status >= 400)
      #expect(german.text == english.text)
      #expect(german.status == english.status)
      #expect(german.response.fields.map(\.name) == english.response.fields.map(\.name))
      #expect(german.field("Content-Language") == nil)
    }
  }

  @Test(arguments: [
    ("/account/nothing", Messages.german.unknownRequest),
    ("/api/enrollment/callback/x", Messages.german.unknownBank),
  ])
  func errorsOnPagesAreInTheLanguageOfTheRequest(path: String, sentence: String) throws {
    try withApplication { site in
      let german = site.send("GET", path, fields: Self.german)
      #expect(german.status == 404)
      #expect(german.text.contains("<p>\(sentence)</p>"))
      #expect(german.field("Content-Language") == "de")
    }
  }

  @Test func merchantsServersAreAnsweredInEnglish() throws {
    try withApplication { site in
      let key = [(name: "x-api-key", value: "wrong")]
      for (path, fields) in [
        ("/api/merchant/payment/initiate", key), ("/api/merchant/payment/confirm", key),
        ("/api/merchant/payment/initiate", []), ("/api/merchant/nothing", key),
      ] {
        let english = site.send("POST", path, "{}", fields: fields)
        let german = site.send("POST", path, "{}", fields: fields + Self.german)
        #expect(german.text == english.text)
        #expect(german.field("Content-Language") == nil)
      }
    }
  }

  @Test func theLogStaysInEnglish() throws {
    try withDatabase { root in
      let lines = LogLines()
      let application = Application.ofTests(
        on: accountSettings(of: "responder", in: root), log: Logger(label: "test") { _ in lines })
      for (path, body) in [
        ("/api/mobile/nothing", ""), (AccountPath.register, #"{"email":"ann"}"#),
      ] {
        _ = application.send("POST", path, body, fields: Self.german)
      }
      #expect(lines.all.count == 2)
      #expect(lines.all.first?.hasPrefix("info 404 Not found ") == true)
      #expect(lines.all.last?.hasPrefix("info 400 email: not_an_email_address ") == true)
    }
  }
}

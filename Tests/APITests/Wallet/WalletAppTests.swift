import Foundation
import Store
import Support
import Testing

@testable import API

/// The screens of the wallet app, each with its requests. Once the app has stored a token, it sends
/// the token with every request, also to register and to sign in.
@Suite struct WalletAppTests {
  /// The app's memory: when a refresh fails, it keeps only the device id.
  private struct App {
    let site: TestApplication
    var accessToken: String?
    var refreshToken: String?
    let device: [String: any Sendable] = [
      "deviceId": "8d3c6a52-6b0a-4b3e-9c0e-6a7f5a1c1d10", "deviceName": "Ann's iPhone",
      "platform": "ios",
    ]

    func send(_ method: String, _ path: String, _ body: [String: any Sendable]? = nil) -> Answer {
      site.send(
        method, "/api\(path)", body.map { jsonText($0) } ?? "", token: accessToken,
        fields: body == nil ? [] : [(name: "Content-Type", value: "application/json")])
    }

    func post(_ path: String, _ body: [String: any Sendable] = [:]) -> Answer {
      send("POST", path, device.merging(body) { $1 })
    }

    mutating func keep(_ answer: Answer) {
      accessToken = answer.accessToken
      refreshToken = answer.refreshToken
    }
  }

  /// The first start: the app waits for no answer and ignores errors.
  private func start(_ app: App) {
    let answer = app.post("/mobile/device/register", ["pushToken": "apns-or-fcm-token"])
    #expect(answer.status == 200, "\(answer.text)")
    #expect(answer.string("deviceCredential") != nil && answer.string("expiresAt") != nil)
  }

  private func signUp(_ app: inout App) throws {
    let answer = app.post("/mobile/auth/register", ["email": "Ann@Example.org", "name": "Ann B. "])
    #expect(answer.status == 201, "\(answer.text)")
    #expect(answer.string("user", "walletId")?.hasPrefix("wsim_") == true)
    app.keep(answer)
    #expect(app.send("GET", "/mobile/wallet/summary").status == 200)
    // The app sends a placeholder instead of a key, shows "Setup Failed" and continues.
    let setUp = app.post(
      "/mobile/auth/biometric/setup",
      ["publicKey": "mwsim_8d3c6a52_1795000000000", "biometricType": "face"])
    #expect(setUp.status == 400)
    let push = app.post(
      "/mobile/device/push-token", ["pushToken": pushTokenText("b"), "tokenType": "apns"])
    #expect(push.status == 200)
    #expect(push["success"] as? Bool == true && push.string("registeredAt") != nil)
  }

  private func signOut(_ app: inout App) {
    let id = app.device["deviceId"] as? String ?? ""
    #expect(app.send("DELETE", "/mobile/device/push-token/\(id)").status == 200)
    #expect(app.send("POST", "/mobile/auth/logout").status == 200)
    #expect(app.send("GET", "/mobile/wallet/summary").status == 401)
    #expect(app.site.count("push_tokens") == 0)
  }

  @Test func aPersonSignsUpOutAndInAgain() throws {
    try withApplication { site in
      var app = App(site: site)
      start(app)
      try signUp(&app)
      let old = app
      signOut(&app)
      // "Create Account" with a known address leads to the sign-in screen, which asks for a password.
      let again = app.post("/mobile/auth/register", ["email": "ann@example.org", "name": "Ann"])
      #expect(again.status == 409)
      #expect(again.string("message")?.contains("Use login instead") == true)
      let asked = app.post(
        "/mobile/auth/login/password", ["email": "ann@example.org", "password": "my password"])
      #expect(asked.status == 400)
      #expect(
        asked.string("message")
          == "We have mailed you a code. Type it here in place of the password.")
      let answer = app.post(
        "/mobile/auth/login/password",
        ["email": "ann@example.org", "password": try site.mailedCode()])
      #expect(answer.status == 200, "\(answer.text)")
      app.keep(answer)
      #expect(app.send("GET", "/mobile/wallet/summary").status == 200)
      // The signed-out session stays ended. Repeated refreshes with its token finally get a status
      // other than 401.
      #expect(old.send("GET", "/mobile/wallet/summary").status == 401)
      let dead = (1...40).map { _ in
        old.send("POST", "/mobile/auth/token/refresh", ["refreshToken": old.refreshToken]).status
      }
      #expect(dead.first == 401 && dead.last == 429)
    }
  }

  @Test func twoRequestsThatMeetAnExpiredTokenBothRefresh() throws {
    try withApplication { site in
      var app = App(site: site)
      start(app)
      try signUp(&app)
      site.advance(by: .seconds(3601))
      #expect(app.send("GET", "/mobile/wallet/summary").status == 401)
      let answers = inParallel(2) { [app] _ in
        app.send("POST", "/mobile/auth/token/refresh", ["refreshToken": app.refreshToken])
      }
      #expect(answers.map(\.status) == [200, 200])
      for answer in answers {
        #expect(site.summary(try #require(answer.accessToken)).status == 200)
      }
    }
  }

  @Test func aBankIsConnectedAndRemoved() throws {
    let bank = try #require(FakeBank())
    defer { bank.end() }
    try withApplication { site in
      try site.connect(bank)
      var app = App(site: site)
      let banks = app.send("GET", "/mobile/enrollment/banks")
      #expect(banks.status == 200)
      #expect(banks.text.contains(#""bsimId":"test-bank""#))
      start(app)
      try signUp(&app)
      let begun = app.send("POST", "/mobile/enrollment/start/test-bank")
      #expect(begun.status == 200, "\(begun.text)")
      let url = try #require(begun.string("authUrl"))
      let location = try #require(bank.consent(to: url))
      // The system's browser differs from the app, so the page asks and shows the whole address.
      #expect(site.visit(location).text.contains("ann@example.org"))
      let end = try site.withCompanion(of: .banks) { site.comeBack(to: location) }
      #expect(
        end.field("Location")?.hasPrefix("mwsim://enrollment/callback?success=true") == true,
        "\(end.text)")
      let list = app.send("GET", "/mobile/enrollment/list")
      let id = try #require(list["enrollments", 0, "id"] as? String)
      #expect(list["enrollments", 0, "bankName"] as? String == "Test Bank")
      #expect(app.send("GET", "/mobile/wallet/cards").status == 200)
      #expect(app.send("DELETE", "/mobile/enrollment/\(id)").status == 200)
    }
  }

  /// The app also calls these routes, and continues after any status except 401.
  @Test func theProfileIsReadAndWrittenAndWhatIsMissingIs404() throws {
    try withApplication { site in
      var app = App(site: site)
      start(app)
      try signUp(&app)
      let named = app.send("PUT", "/mobile/profile", ["name": "Ann Other"])
      #expect(named.status == 200)
      #expect(named.string("displayName") == "Ann Other")
      #expect(app.send("GET", "/mobile/profile").string("profile", "displayName") == "Ann Other")
      for path in ["/mobile/accounts", "/mobile/contracts", "/mobile/profile/image"] {
        #expect(app.send("GET", path).status == 404)
      }
    }
  }
}

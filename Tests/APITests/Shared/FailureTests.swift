import Foundation
import HTTP
import Logging
import MariaDB
import Store
import Support
import Synchronization
import Testing

@testable import API

@Suite struct FailureTests {
  private static let requests = [
    Request(method: "GET", path: "/health", requestID: "r"),
    Request(method: "GET", path: "/api/v1/models", requestID: "r"),
    Request(
      method: "POST", path: "/api/mobile/auth/register",
      body: Array(
        #"{"email":"a@example.org","name":"A","deviceId":"d","deviceName":"D","platform":"ios"}"#
          .utf8), requestID: "r"),
  ]
  private static let unavailable = [
    #"{"error":"Temporarily unavailable","status":"down","database":"unavailable","last_poll":null,"#
      + #""problems":[{"name":"database","reason":"The database does not answer."}]}"#,
    #"{"error":{"code":"server_error","message":"Temporarily unavailable"}}"#,
    #"{"error":"server_error","message":"We cannot answer at the moment. Try again in a few seconds."}"#,
  ]

  private func expectUnavailable(
    _ application: Application, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for (request, body) in zip(Self.requests, Self.unavailable) {
      let answer = application.answer(to: request)
      #expect(answer.status == 503, sourceLocation: sourceLocation)
      #expect(answer.text == body, sourceLocation: sourceLocation)
      #expect(answer.field("Retry-After") == "2", sourceLocation: sourceLocation)
      #expect(answer.field("Cache-Control") == "no-store", sourceLocation: sourceLocation)
      #expect(answer.field("X-Request-Id") == "r", sourceLocation: sourceLocation)
    }
  }

  @Test func withoutADatabaseEveryRouteIs503() {
    expectUnavailable(
      Application.ofTests(on: ConnectionSettings(socket: "/nonexistent", database: "x", user: "x")))
  }

  @Test func aWrongPasswordOfTheDatabaseIs503() throws {
    try withDatabase { root in
      var settings = accountSettings(of: "responder", in: root)
      settings.password = "wrong"
      let application = Application.ofTests(on: settings)
      for (request, body) in zip(Self.requests, Self.unavailable).dropFirst() {
        let answer = application.answer(to: request)
        #expect(answer.status == 503)
        #expect(answer.text == body)
      }
      let health = application.answer(to: Self.requests[0])
      #expect(health.status == 503)
      #expect(health.text.contains("The database refuses the account or the password"))
    }
  }

  @Test func aRestartOfTheDatabaseIsNoticedAtOnce() throws {
    let server = MariaDBServer()
    let schema = try String(contentsOf: projectSchema, encoding: .utf8)
    server.createDatabase("switchboard", schema: schema)
    let application = Application.ofTests(on: server.settings(database: "switchboard"))
    let health = Request(method: "GET", path: "/health")
    #expect(application.checkedResponse(to: health).status == 200)
    server.stop()
    expectUnavailable(application)
    server.start()
    #expect(application.checkedResponse(to: health).status == 200)
  }

  @Test func aWriteWithALostAnswerIs503() throws {
    try withDatabase { root in
      let isCut = Mutex(false)
      let proxy = MariaDBProxy(accountSettings(of: "responder", in: root)) { command in
        command == .query("COMMIT") && isCut.withLock({ $0 }) ? .cutAfter : .pass
      }
      let application = Application.ofTests(on: proxy.settings)
      isCut.withLock { $0 = true }
      let answer = application.answer(to: Self.requests[2])
      #expect(answer.status == 503)
      #expect(answer.text == Self.unavailable[2])
    }
  }

  @Test(arguments: [UInt16(1213), 1205, 1020, 1047, 1180])
  func retryableErrorsAreRetried(code: UInt16) throws {
    try withDatabase { root in
      // After this request, all of its statements are prepared before the transaction begins.
      _ = Application.ofTests(on: accountSettings(of: "responder", in: root))
        .answer(to: Self.requests[1])
      let refusals = Mutex(0)
      let proxy = MariaDBProxy(accountSettings(of: "responder", in: root)) { command in
        guard case .execute(let sql) = command, sql.contains("INTO rate_limits") else {
          return .pass
        }
        return refusals.withLock { refusals in
          refusals += 1
          return refusals == 1 ? .refuse(code) : .pass
        }
      }
      let answer = Application.ofTests(on: proxy.settings).answer(to: Self.requests[1])
      #expect(answer.status == 200)
      #expect(refusals.withLock { $0 } == 2)
    }
  }

  @Test(arguments: [UInt16(1213), 1205])
  func persistentRetryableErrorsAre503(code: UInt16) throws {
    try withDatabase { root in
      let proxy = MariaDBProxy(accountSettings(of: "responder", in: root)) { command in
        if case .execute(let sql) = command, sql.contains("INTO rate_limits") {
          return .refuse(code)
        }
        return .pass
      }
      let answer = Application.ofTests(on: proxy.settings).answer(to: Self.requests[1])
      #expect(answer.status == 503)
      #expect(answer.text == Self.unavailable[1])
    }
  }

  @Test func serverErrorsHaveNoDetail() throws {
    try withApplication { site in
      let ann = try site.signUp()
      site.sql("RENAME TABLE device_preferences TO gone, models TO gone_too, accounts TO none")
      for (answer, body) in [
        (
          site.preferences(of: ann),
          #"{"error":{"code":"server_error","message":"Internal server error"}}"#
        ),
        (
          site.send("GET", "/api/v1/models"),
          #"{"error":{"code":"server_error","message":"Internal server error"}}"#
        ),
        (
          site.send("GET", "/api/mobile/wallet/summary", token: ann.accessToken),
          #"{"error":"server_error","message":"Something went wrong on our side. Try again later."}"#
        ),
      ] {
        #expect(answer.status == 500)
        #expect(answer.text == body)
        #expect(answer.field("Cache-Control") == "no-store")
        #expect(answer.field("Retry-After") == nil)
      }
      site.sql("RENAME TABLE companion_status TO hidden")
      let health = site.send("GET", "/health")
      #expect(health.status == 500)
      #expect(health.text == #"{"error":"Internal server error"}"#)
    }
  }

  @Test func errorsAreLoggedOnceWithoutSecrets() throws {
    try withDatabase { root in
      let lines = LogLines()
      let application = Application.ofTests(
        on: accountSettings(of: "responder", in: root), log: Logger(label: "test") { _ in lines })
      let body = #"{"email":"secret-address","name":"secret-name"}"#
      _ = application.checkedResponse(
        to: Request(
          method: "POST", path: "/api/mobile/auth/register", query: "token=secret-query",
          fields: [("Authorization", "Bearer secret-token")], body: Array(body.utf8),
          requestID: "id-1"))
      MariaDBServer.shared.run("DROP TABLE models", database: root.database)
      _ = application.checkedResponse(
        to: Request(method: "GET", path: "/api/v1/models", requestID: "id-2"))
      let logged = lines.all
      #expect(logged.count == 2)
      #expect(logged.first?.hasPrefix("info 400 ") == true)
      #expect(logged.first?.contains("request=id-1") == true)
      #expect(logged.first?.contains("path=/api/mobile/auth/register") == true)
      #expect(logged.last?.hasPrefix("error 500 MariaDB error 1146") == true)
      #expect(logged.last?.contains("request=id-2") == true)
      #expect(!logged.joined().contains("secret"))
    }
  }

  /// Clients do not learn the reason.
  @Test(arguments: [
    ("", "the request has no token"), ("cdev_s_x", "the token is not of this site"),
    ("strange", "the token is not of this site"),
  ])
  func whyTheAgentIsOutOfReachIsLogged(token: String, cause: String) throws {
    try withDatabase { root in
      let lines = LogLines()
      let application = Application.ofTests(
        on: accountSettings(of: "responder", in: root), log: Logger(label: "test") { _ in lines })
      let answer = application.checkedResponse(
        to: Request(
          method: "GET", path: "/api/status",
          fields: token.isEmpty ? [] : [("Authorization", "Bearer \(token)")]))
      #expect(answer.status == 401)
      #expect(String(decoding: answer.body, as: UTF8.self) == #"{"error":"Unauthorized"}"#)
      #expect(lines.all.first?.hasPrefix("info 401 Unauthorized: \(cause)") == true)
    }
  }
}

import Base
import HTTP
import Store
import Testing

@testable import API

/// Origins that may call `/api/push/…`, and the header fields for browsers.
@Suite struct PushOriginTests {
  private let application = Application.withoutDatabase()
  private static let actions = ["register", "unregister", "subscribe", "unsubscribe", "test"]

  private static let origins: [(API.Settings.Environment, String, Bool)] = [
    (.production, "https://os.ryo.lu", true), (.production, "  https://os.ryo.lu ", true),
    (.production, "https://os.ryo.lu:443", false), (.production, "https://os.ryo.lu/", false),
    (.production, "https://OS.ryo.lu", false), (.production, "http://os.ryo.lu", false),
    (.production, "https://os.ryo.lu.evil.example", false),
    (.production, "https://evil.example/https://os.ryo.lu", false),
    (.production, "https://ryos-abc.vercel.app", false),
    (.production, "http://localhost:3000", false), (.production, "tauri://localhost", false),
    (.production, "https://mac.tailb4fa61.ts.net", true),
    (.production, "http://mac.tailb4fa61.ts.net:5173", true),
    (.production, "https://tailb4fa61.ts.net", false),
    (.production, "https://.tailb4fa61.ts.net", false),
    (.production, "https://eviltailb4fa61.ts.net", false),
    (.production, "https://mac.tailb4fa61.ts.net.evil.example", false),
    (.production, "https://evil.example/.tailb4fa61.ts.net", false),
    (.production, "https://a@mac.tailb4fa61.ts.net", false),
    (.production, "https://evil.example\\.tailb4fa61.ts.net", false),
    (.production, "https://é.tailb4fa61.ts.net", false),
    (.production, "https://a\nb.tailb4fa61.ts.net", false),
    (.preview, "https://ryos-abc.vercel.app", true),
    (.preview, "https://ryos-git-branch-someone.vercel.app", true),
    (.preview, "https://ryo-lu-1.vercel.app", true),
    (.preview, "https://os-ryo-1.vercel.app", true),
    (.preview, "https://RYOS-abc.vercel.app", true),
    (.preview, "https://ryos.vercel.app", false), (.preview, "https://aryos-b.vercel.app", false),
    (.preview, "https://ryos-abc.evil.vercel.app", false),
    (.preview, "https://ryos-abc.vercel.app.evil.example", false),
    (.preview, "http://ryos-abc.vercel.app", false), (.preview, "https://os.ryo.lu", false),
    (.preview, "http://localhost:3000", false), (.preview, "https://mac.tailb4fa61.ts.net", true),
    (.development, "http://localhost", true), (.development, "http://localhost:80", true),
    (.development, "https://localhost", true), (.development, "https://localhost:443", true),
    (.development, "http://localhost:3000", true), (.development, "http://localhost:5173", true),
    (.development, "http://127.0.0.1:3000", true), (.development, "http://[::1]:5173", true),
    (.development, "http://[::1]", true), (.development, "HTTP://LocalHost:3000", true),
    (.development, "http://localhost:8080", false), (.development, "http://127.0.0.2:3000", false),
    (.development, "http://[::2]:3000", false), (.development, "http://localhost:", false),
    (.development, "http://localhost:+3000", false),
    (.development, "http://localhost:68536", false),
    (.development, "http://localhost:3000/", false),
    (.development, "http://localhost.evil.example:3000", false),
    (.development, "http://a@localhost:3000", false), (.development, "tauri://localhost", false),
    (.development, "https://os.ryo.lu", false), (.development, "null", false),
    (.development, "*", false), (.development, "localhost:3000", false),
    (.development, "", false), (.development, "   ", false),
    (.development, "https://mac.tailb4fa61.ts.net", true),
  ]

  /// An allowed origin gets 401 here, because the request has no sign-in.
  @Test(arguments: origins.indices)
  func theEnvironmentDecidesWhichOriginsMayCall(number: Int) {
    let (environment, origin, isAllowed) = Self.origins[number]
    let application = Application.withoutDatabase(environment)
    for action in Self.actions {
      let post = application.push(action, fields: [("Origin", origin)])
      let preflight = application.push(action, method: "OPTIONS", fields: [("Origin", origin)])
      #expect(post.status == (isAllowed ? 401 : 403), "\(environment) \(origin)")
      #expect(preflight.status == (isAllowed ? 204 : 403), "\(environment) \(origin)")
      for answer in [post, preflight] {
        #expect(
          answer.field("Access-Control-Allow-Origin") == (isAllowed ? origin.trimmed : nil))
      }
      guard !isAllowed else { continue }
      #expect(post.text == #"{"error":"Unauthorized"}"#)
      #expect(post.crossOriginFields == ["Vary": "Origin"])
      #expect(preflight.text == #"{"error":"Unauthorized"}"#)
      #expect(preflight.crossOriginFields == ["Vary": Self.preflightVary])
    }
  }

  private static let preflightVary =
    "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"

  @Test(arguments: ["tauri://localhost", "http://tauri.localhost", "https://app.example.org:8443"])
  func aConfiguredOriginMayCallInEveryEnvironment(origin: String) {
    let list = ["tauri://localhost", "http://tauri.localhost", "https://app.example.org:8443"]
    for environment in API.Settings.Environment.allCases {
      let application = Application.withoutDatabase(environment, allowedOrigins: list)
      let answer = application.push("register", fields: [("Origin", origin)])
      #expect(answer.status == 401)
      #expect(answer.field("Access-Control-Allow-Origin") == origin)
      for other in ["\(origin)/", "\(origin):1", origin.uppercased(), "x\(origin)"] {
        #expect(application.push("register", fields: [("Origin", other)]).status == 403)
      }
    }
    let production = Application.withoutDatabase(.production, allowedOrigins: list)
    #expect(production.push("test", fields: [("Origin", "https://os.ryo.lu")]).status == 401)
  }

  private static let fields: [([(name: String, value: String)], String?)] = [
    ([], nil), ([("Origin", "")], nil), ([("Origin", " , ,")], nil),
    ([("Origin", ""), ("Origin", "http://localhost:3000")], "http://localhost:3000"),
    ([("Origin", ", http://localhost:3000")], "http://localhost:3000"),
    ([("Origin", "http://localhost:3000, http://evil.example")], "http://localhost:3000"),
    (
      [("Origin", "http://localhost:3000"), ("Origin", "http://evil.example")],
      "http://localhost:3000"
    ),
    ([("Origin", "http://evil.example, http://localhost:3000")], nil),
    ([("Origin", "http://evil.example"), ("Origin", "http://localhost:3000")], nil),
    ([("Origin", "null"), ("Referer", "http://localhost:3000/")], nil),
    ([("Referer", "http://localhost:3000/a/b?c=d,e#f")], "http://localhost:3000"),
    ([("Referer", "http://localhost:3000")], "http://localhost:3000"),
    ([("Referer", "http://localhost:80/x")], "http://localhost"),
    ([("Referer", "https://LOCALHOST:443/x")], "https://localhost"),
    ([("Referer", "http://localhost:3000?x")], "http://localhost:3000"),
    ([("Referer", " "), ("Referer", "http://localhost:3000/")], "http://localhost:3000"),
    ([("Origin", "  "), ("Referer", "http://localhost:3000/")], "http://localhost:3000"),
    ([("Referer", "http://evil.example/http://localhost:3000/")], nil),
    ([("Referer", "http://evil.example\\@localhost:3000/")], nil),
    ([("Referer", "/relative")], nil), ([("Referer", "about:blank")], nil),
    ([("Origin", "http://evil.example"), ("Referer", "http://localhost:3000/")], nil),
  ]

  @Test(arguments: fields.indices)
  func theFirstOriginDecidesAndElseTheFirstReferer(number: Int) {
    let (fields, origin) = Self.fields[number]
    let answer = application.push("register", fields: fields)
    #expect(answer.status == (origin == nil ? 403 : 401), "\(fields)")
    #expect(answer.field("Access-Control-Allow-Origin") == origin, "\(fields)")
  }

  @Test(arguments: [
    (nil, 204), ("POST", 204), (" POST ", 204), ("", 204), ("post", 204), (" Post ", 204),
    (" ,POST", 204), (",", 204), ("POST, POST", 405), ("post,post", 405), ("POST, GET", 405),
    ("GET", 405), ("DELETE", 405), ("OPTIONS", 405), ("POST x", 405), ("PUT, POST", 405),
  ])
  func aPreflightMayAskForPostOnly(method: String?, status: Int) {
    let asked = method.map { [(name: "Access-Control-Request-Method", value: $0)] } ?? []
    for action in Self.actions {
      let answer = application.push(action, method: "OPTIONS", fields: [pushOrigin] + asked)
      var fields = Answer.allowed
      fields["Vary"] = Self.preflightVary
      #expect(answer.status == status)
      #expect(answer.crossOriginFields == fields)
      #expect(answer.text == (status == 204 ? "" : #"{"error":"Method not allowed"}"#))
      #expect(answer.field("Allow") == (status == 204 ? nil : "POST, OPTIONS"))
    }
  }

  private static let long = String(repeating: "x", count: 128)

  private static let requested: [([String], String)] = [
    ([], "Content-Type, Authorization, X-Username"),
    ([""], "Content-Type, Authorization, X-Username"),
    ([" , ,, "], "Content-Type, Authorization, X-Username"),
    (["a b, c(d), é, x:y, \u{1}"], "Content-Type, Authorization, X-Username"),
    (["content-type"], "content-type"),
    ([" authorization ,  X-Username,content-type "], "authorization, X-Username, content-type"),
    (["X-One, x-one, X-ONE, x-Two"], "X-One, x-Two"), (["a", "b, A", "c"], "a, b, c"),
    (["!#$%&'*+-.^_`|~09azAZ"], "!#$%&'*+-.^_`|~09azAZ"),
    (["bad name, good"], "good"), ([long], long),
    ([long + "x"], "Content-Type, Authorization, X-Username"),
    ([long + "x, y"], "y"),
    (
      [(1...60).map { "h\($0)" }.joined(separator: ",")],
      (1...50).map { "h\($0)" }.joined(separator: ", ")
    ),
    ([String(repeating: ",", count: 199) + "last"], "last"),
    ([String(repeating: ",", count: 200) + "late"], "Content-Type, Authorization, X-Username"),
    ([(1...199).map { _ in "same" }.joined(separator: ","), "x200,x201"], "same, x200"),
  ]

  @Test(arguments: requested.indices)
  func aPreflightEchoesTheRequestedFieldNames(number: Int) {
    let (values, echoed) = Self.requested[number]
    let fields = values.map { (name: "Access-Control-Request-Headers", value: $0) }
    let answer = application.push("test", method: "OPTIONS", fields: [pushOrigin] + fields)
    #expect(answer.status == 204)
    #expect(answer.field("Access-Control-Allow-Headers") == echoed)
  }

  @Test func onlyAPreflightEchoesFieldNames() {
    let answer = application.push(
      "test", fields: [pushOrigin, ("Access-Control-Request-Headers", "X-Other")])
    #expect(answer.isPushError(401, "Unauthorized - missing credentials"))
  }

  @Test(arguments: ["GET", "HEAD", "PUT", "DELETE", "PATCH", "options"])
  func anotherMethodIs405ForAllowedOriginsAnd403ForOthers(method: String) {
    for action in Self.actions {
      let allowed = application.push(action, method: method, fields: [pushOrigin])
      #expect(allowed.isPushError(405, "Method not allowed"))
      #expect(allowed.field("Allow") == "POST, OPTIONS")
      let foreign = application.push(
        action, method: method, fields: [("Origin", "https://evil.example")])
      #expect(foreign.status == 403)
      #expect(foreign.field("Allow") == nil)
      #expect(foreign.crossOriginFields == ["Vary": "Origin"])
    }
  }

  @Test(arguments: ["", "nothing", "register/", "register/x", "Register", "tokens"])
  func anUnknownPathIs404ForEveryOrigin(path: String) {
    for method in ["GET", "POST", "OPTIONS"] {
      let allowed = application.push(path, method: method, fields: [pushOrigin])
      #expect(allowed.status == 404)
      #expect(allowed.text == #"{"error":"Not found"}"#)
      #expect(allowed.field("Access-Control-Allow-Origin") == pushOrigin.value)
      let foreign = application.push(path, method: method, fields: [])
      #expect(foreign.status == 404)
      #expect(foreign.crossOriginFields.keys.sorted() == ["Vary"])
    }
  }

  @Test func aForeignOriginIs403BeforeTheBodyIsChecked() {
    for (defect, status) in [(Request.Defect.bodyTooLarge, 413), (.bodyIncomplete, 400)] {
      let foreign = application.push(
        "test", fields: [("Origin", "https://evil.example")], defect: defect)
      #expect(foreign.status == 403)
      let allowed = application.push("test", fields: [pushOrigin], defect: defect)
      #expect(allowed.status == status)
      #expect(allowed.crossOriginFields == Answer.allowed)
    }
    let ambiguous = application.push("test", fields: [], defect: .ambiguousPath)
    #expect(ambiguous.status == 404)
  }

  @Test func otherFamiliesHaveNoFieldsForOrigins() throws {
    try withApplication { site in
      for path in ["/health", "/api/v1/models"] {
        #expect(site.send("GET", path, fields: [pushOrigin]).crossOriginFields.isEmpty)
      }
      let unauthorized = site.send("GET", "/api/mobile/wallet/summary", fields: [pushOrigin])
      #expect(unauthorized.crossOriginFields == ["Vary": "Accept-Language"])
    }
  }
}

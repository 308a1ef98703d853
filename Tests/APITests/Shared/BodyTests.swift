import Foundation
import HTTP
import Support
import Testing

@testable import API

/// Malformed and unusual JSON at every route that reads a body.
@Suite struct BodyTests {
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private static let broken: [(name: String, body: [UInt8])] = [
    ("empty", []), ("white space", bytes(" \n\t ")), ("truncated object", bytes(#"{"a":1"#)),
    ("truncated string", bytes(#"{"a":"b"#)), ("trailing text", bytes("{} x")),
    ("two objects", bytes("{}{}")), ("trailing comma", bytes(#"{"a":1,}"#)),
    ("single quotes", bytes("{'a':1}")), ("comment", bytes("{/* a */}")),
    ("bare word", bytes("undefined")), ("NaN", bytes(#"{"archive_cache_quota_mb":NaN}"#)),
    ("Infinity", bytes(#"{"archive_cache_quota_mb":Infinity}"#)),
    ("leading zero", bytes(#"{"archive_cache_quota_mb":0512}"#)),
    ("leading plus", bytes(#"{"archive_cache_quota_mb":+512}"#)),
    ("hexadecimal", bytes(#"{"archive_cache_quota_mb":0x200}"#)),
    ("invalid UTF-8 in a string", bytes(#"{"push_token":""#) + [0xff, 0xfe] + bytes(#""}"#)),
    ("overlong UTF-8", bytes(#"{"push_token":""#) + [0xc0, 0xaf] + bytes(#""}"#)),
    ("encoded surrogate", bytes(#"{"push_token":""#) + [0xed, 0xa0, 0x80] + bytes(#""}"#)),
    ("lone surrogate", bytes(#"{"push_token":"\ud83c"}"#)),
    ("bad escape", bytes(#"{"push_token":"\q"}"#)),
    ("short escape", bytes(#"{"push_token":"\u00"}"#)),
    ("raw control", bytes("{\"push_token\":\"a\nb\"}")),
    ("raw NUL", bytes("{\"push_token\":\"a\0b\"}")), ("only NUL", [0]),
    ("deep arrays", Array(repeating: UInt8(ascii: "["), count: 100_000)),
    (
      "deep objects", Array(repeatElement(bytes(#"{"a":"#), count: 100_000).joined())
    ),
    ("a form", bytes("push_enabled=true")), ("XML", bytes("<a/>")),
  ]

  private static let routes = [
    "/api/v1/device-prefs", "/api/v1/push/register", "/api/mobile/device/register",
    "/api/mobile/device/push-token", "/api/mobile/auth/register", "/api/mobile/auth/login",
    "/api/mobile/auth/login/verify", "/api/mobile/auth/token/refresh",
  ]

  private static func post(
    _ site: TestApplication, _ path: String, _ body: [UInt8], token: String
  ) -> Answer {
    site.application.answer(
      to: Request(
        method: "POST", path: path, fields: [("Authorization", "Bearer \(token)")], body: body))
  }

  @Test(arguments: broken.indices)
  func malformedBodiesAre400InTheShapeOfTheFamily(number: Int) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let (name, body) = Self.broken[number]
      for path in Self.routes {
        let answer = Self.post(site, path, body, token: ann.accessToken)
        #expect(answer.status == 400, "\(name) at \(path)")
        let code =
          path.hasPrefix("/api/v1/") ? answer.string("error", "code") : answer.string("error")
        #expect(
          code == (path.hasPrefix("/api/v1/") ? "validation_error" : "bad_request"),
          "\(name) at \(path)")
      }
      #expect(site.preferences(of: ann).version == 0)
    }
  }

  /// The whole body must be JSON, even if no handler reads the member.
  @Test(arguments: [
    #"{"x":0512}"#, #"{"x":+5}"#, #"{"x":"\q"}"#, #"{"x":"\ud83c"}"#, #"{"x":"\u00"}"#,
    "{\"x\":\"a\nb\"}", #"{"x":tru}"#, #"{"x":1,}"#, #"{"x":[1,]}"#, #"{"x":.5}"#, #"{"x":1.}"#,
    #"{"x":1e}"#, #"{"x":-}"#, #"{"x":1 "y":2}"#, #"{"x" 1}"#, #"{x:1}"#,
  ])
  func malformedJSONInAnUnreadMemberIs400(body: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let answer = site.post(body, by: ann)
      #expect(answer.status == 400)
      #expect(
        answer.text
          == #"{"error":{"code":"validation_error","#
          + #""message":"The body is not valid JSON. Update the app and try again."}}"#)
    }
  }

  private static let odd: [(name: String, body: String)] = [
    (
      "deep but closed",
      String(repeating: "[", count: 50_000) + String(repeating: "]", count: 50_000)
    ),
    (
      "deep in an unknown member",
      #"{"x":"# + String(repeating: "[", count: 30_000) + String(repeating: "]", count: 30_000)
        + "}"
    ),
    ("huge number", #"{"archive_cache_quota_mb":1\#(String(repeating: "0", count: 60_000))}"#),
    ("huge exponent", #"{"archive_cache_quota_mb":1e999999999}"#),
    ("tiny exponent", #"{"archive_cache_quota_mb":1e-999999999}"#),
    ("minus zero", #"{"archive_cache_quota_mb":-0}"#),
    ("huge version", #"{"if_version":1e400}"#),
    ("duplicate members", #"{"push_enabled":true,"push_enabled":false}"#),
    ("duplicate, one malformed", #"{"push_enabled":true,"push_enabled":"x"}"#),
    ("escaped NUL", #"{"push_token":"a\u0000b","preferred_models":["\u0000"]}"#),
    ("escaped name", #"{"push\u005fenabled":true}"#), ("NUL in a name", #"{"a\u0000":1}"#),
    ("empty name", #"{"":1}"#), ("byte order mark", "\u{feff}{}"),
    ("prototype", #"{"__proto__":{"push_enabled":true},"constructor":null}"#),
    (
      "many models",
      #"{"preferred_models":[\#(repeatElement(#""x""#, count: 15_000).joined(separator: ","))]}"#
    ),
    ("long model", #"{"preferred_models":["\#(String(repeating: "x", count: 60_000))"]}"#),
    ("format characters", #"{"push_token":"%s%n'; DROP TABLE accounts; -- "}"#),
  ]

  @Test(arguments: odd.indices)
  func unusualJSONIsNeverAServerError(number: Int) throws {
    try withApplication { site in
      let ann = try site.signUp()
      let (name, body) = Self.odd[number]
      for path in Self.routes {
        let answer = Self.post(site, path, Array(body.utf8), token: ann.accessToken)
        #expect(answer.status < 500, "\(name) at \(path): \(answer.text)")
        #expect(
          (try? JSONSerialization.jsonObject(with: Data(answer.response.body))) != nil,
          "\(name) at \(path)")
      }
      #expect(site.preferences(of: ann).status == 200)
      #expect(site.sql("SELECT COUNT(*) FROM accounts") == "1")
    }
  }

  @Test func theContentTypeDoesNotMatter() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for type in ["text/plain", "application/x-www-form-urlencoded", ""] {
        let answer = site.post("{}", by: ann, fields: [("Content-Type", type)])
        #expect(answer.status == 200)
      }
    }
  }

  /// A valid body with random changes.
  @Test func randomBytesAreNeverAServerError() throws {
    try withApplication { site in
      var random = SeededGenerator(state: 20_261_118)
      let good = Array(
        #"{"push_enabled":true,"preferred_models":["gpt-4o"],"archive_cache_quota_mb":512.0,"if_version":null,"push_token":"é\u00e9🎉"}"#
          .utf8)
      // Ann may write 30 times; refused bodies do not count.
      let ann = try site.signUp()
      for _ in 0..<1500 {
        var body = good
        for _ in 0..<Int.random(in: 1...4, using: &random) {
          body[Int.random(in: body.indices, using: &random)] = .random(in: 0...255, using: &random)
        }
        if Bool.random(using: &random) {
          body = Array(body.prefix(Int.random(in: 0...body.count, using: &random)))
        }
        let answer = Self.post(site, "/api/v1/device-prefs", body, token: ann.accessToken)
        #expect(answer.status < 500, "\(body)")
      }
    }
  }
}

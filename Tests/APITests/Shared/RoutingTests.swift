import HTTP
import Testing

@testable import API

@Suite struct RoutingTests {
  /// `message` in the error format of the family of `path`.
  ///
  /// - Parameter sentence: the text of the families for people, instead of `message`.
  private func body(
    _ path: String, _ code: String, _ message: String, _ sentence: String
  ) -> String {
    if path.hasPrefix("/api/v1/") {
      return #"{"error":{"code":"\#(code)","message":"\#(message)"}}"#
    }
    if path.hasPrefix("/api/app-attestation/") {
      return #"{"success":false,"error":"\#(message)"}"#
    }
    let isWallet =
      path.hasPrefix("/api/mobile/") || path.hasPrefix("/api/enrollment/")
      || path.hasPrefix("/api/merchant/")
    return isWallet
      ? #"{"error":"\#(code)","message":"\#(sentence)"}"# : #"{"error":"\#(message)"}"#
  }

  private static let unknown =
    "The app asked for something that is not here. Update the app and try again."

  @Test(arguments: [
    "/api/v1/nothing", "/api/v1/", "/api/v1/device-prefs/", "/api/v1/device-prefs/x",
    "/api/v1/Device-Prefs", "/api/v1/models/", "/api/v1/push", "/api/mobile/nothing",
    "/api/app-attestation/", "/api/app-attestation/verify/", "/api/app-attestation/nothing",
    "/api/push", "/api/push/", "/api/push/nothing", "/api/push/test/x",
    "/api/mobile/", "/api/mobile/devices/", "/api/mobile/auth/login/passwords",
    "/api/mobile/wallet/summary/x", "/api/enrollment/x", "/api/merchant/x", "", "/api",
    "/api/v1", "/health/", "/favicon.ico", "/api/mobile/device/push-token/a/b",
  ])
  func unknownPathsAre404WithAnyMethodAndToken(path: String) throws {
    try withApplication { site in
      let ann = try site.signUp()
      for method in ["GET", "HEAD", "POST", "DELETE", "OPTIONS", "BREW"] {
        for token in [nil, ann.accessToken, "nonsense"] {
          let answer = site.send(method, path, token: token)
          #expect(answer.status == 404)
          #expect(answer.text == body(path, "not_found", "Not found", Self.unknown))
          #expect(answer.field("WWW-Authenticate") == nil)
        }
      }
    }
  }

  @Test(arguments: [
    ("POST", "/", "GET, HEAD"), ("PUT", "/health", "GET, HEAD"), ("POST", "/health", "GET, HEAD"),
    ("DELETE", "/api/v1/device-prefs", "GET, HEAD, POST"),
    ("OPTIONS", "/api/v1/device-prefs", "GET, HEAD, POST"),
    ("get", "/api/v1/device-prefs", "GET, HEAD, POST"),
    ("POST", "/api/v1/models", "GET, HEAD"),
    ("GET", "/api/app-attestation/challenge", "POST"),
    ("DELETE", "/api/app-attestation/verify", "POST"),
    ("GET", "/api/v1/push/register", "POST"), ("HEAD", "/api/v1/push/register", "POST"),
    ("GET", "/api/mobile/auth/login", "POST"),
    ("GET", "/api/mobile/device/push-token", "POST, DELETE"),
    ("GET", "/api/mobile/device/push-token/device-1", "DELETE"),
    ("POST", "/api/mobile/devices/device-1", "DELETE, PUT"),
    ("POST", "/api/mobile/wallet/summary", "GET, HEAD"),
  ])
  func otherMethodsAre405WithTheAllowedOnes(
    method: String, path: String, allow: String
  ) throws {
    try withApplication { site in
      let answer = site.send(method, path, "{}")
      #expect(answer.status == 405)
      #expect(answer.field("Allow") == allow)
      #expect(answer.text == body(path, "method_not_allowed", "Method not allowed", Self.unknown))
    }
  }

  @Test func headIsAnsweredLikeGet() throws {
    try withApplication { site in
      let ann = try site.signUp()
      for path in ["/health", "/api/v1/device-prefs", "/api/mobile/wallet/summary"] {
        let get = site.send("GET", path, token: ann.accessToken)
        let head = site.send("HEAD", path, token: ann.accessToken)
        #expect(get.status == 200)
        #expect(head.status == 200)
        #expect(head.response.fields.map(\.name) == get.response.fields.map(\.name))
        // For HEAD the server sends only the length of the body.
        #expect(head.response.body.count == get.response.body.count)
      }
    }
  }

  @Test func theQueryIsNotPartOfThePath() throws {
    try withApplication { site in
      #expect(site.send("GET", "/api/v1/models", query: "a=/api/v1/nothing").status == 200)
    }
  }

  @Test(arguments: [
    (
      Request.Defect.bodyTooLarge, 413, "payload_too_large", "The body is larger than 65536 bytes",
      "The app sent too much at once. Send less, or update the app and try again."
    ),
    (
      .bodyIncomplete, 400, "", "The request arrived incomplete. Try again.",
      "The request arrived incomplete. Try again."
    ),
    (.ambiguousPath, 404, "not_found", "Not found", Self.unknown),
  ])
  func defectiveRequestsAreAnsweredInTheShapeOfTheFamily(
    defect: Request.Defect, status: Int, code: String, message: String, sentence: String
  ) throws {
    try withApplication { site in
      let ann = try site.signUp()
      for path in [
        "/api/v1/device-prefs", "/api/v1/nothing", "/api/mobile/auth/login", "/api/merchant/x",
        "/api/app-attestation/verify",
        "/health", "/nothing",
      ] {
        let answer = site.application.answer(
          to: Request(
            method: "POST", path: path,
            fields: [("Authorization", "Bearer \(ann.accessToken)")], body: Array("{}".utf8),
            requestID: "defective", defect: defect))
        let ofFamily = path.hasPrefix("/api/v1/") ? "validation_error" : "bad_request"
        #expect(answer.status == status)
        #expect(answer.text == body(path, code.isEmpty ? ofFamily : code, message, sentence))
        #expect(answer.field("X-Request-Id") == "defective")
        #expect(answer.field("Cache-Control") == "no-store")
      }
      #expect(site.preferences(of: ann).version == 0)
    }
  }

  @Test func everyRouteIsFoundByItsPath() throws {
    let router = Router(Family.all)
    for (index, family) in Family.all.enumerated() {
      for route in family.routes {
        let path = route.path.replacing(#/:\w+/#, with: "an id")
        let found = try #require(router.match(path))
        #expect(found.family == index)
        let own = try found.routes.route(for: route.method)
        #expect(own.method == route.method)
        #expect(own.path == route.path)
        #expect(found.pathItem == (route.path.contains(":") ? "an id" : ""))
      }
    }
  }

  @Test func allRoutesDiffer() {
    let names = Family.all.flatMap(\.routes).map { "\($0.method) \($0.path)" }
    #expect(Set(names).count == names.count)
  }
}

import Foundation
import Support
import Testing

/// The web server with the deployed files: its own answers, and the requests that it passes on.
@Suite(.serialized, .oneSite) struct EdgeTests {
  private static let web = WebServer.ofTests

  @Test func theSiteIsHealthy() throws {
    let site = Site.ofSuite
    // Waits for the end of the companion's first pass.
    wait(for: "a healthy site") { site.curl("/health").body.contains(#""status":"ok""#) }
    let answer = site.curl("/health")
    #expect(answer.status == 200)
    #expect(answer.fields["content-type"] == "application/json")
    #expect(answer.fields["content-length"] == "\(answer.body.utf8.count)")
    #expect(answer.fields["cache-control"] == "no-store")
    #expect(answer.fields["x-request-id"]?.count == 32)
    #expect(site.curl("/health", "--head").status == 200)
  }

  /// certbot's files, with which a certificate authority checks the owner of the name.
  @Test func theFilesForACertificateAuthorityAreServed() throws {
    let site = Site.ofSuite
    let (path, acme) = ("/.well-known/acme-challenge", "\(site.state)/acme")
    try FileManager.default.createDirectory(
      atPath: acme + path, withIntermediateDirectories: true)
    for (file, text) in [("\(path)/token", "token.thumbprint"), ("/secret", "secret")] {
      try text.write(toFile: acme + file, atomically: true, encoding: .utf8)
    }
    let answer = site.curl("\(path)/token")
    #expect(answer.status == 200 && answer.body == "token.thumbprint")
    #expect(site.curl("\(path)/other").status == 404)
    for outside in [
      "\(path)/../../secret", "\(path)/%2e%2e/%2e%2e/secret", "\(path)/..%2f..%2fsecret",
    ] {
      let answer = site.curl(outside, "--path-as-is")
      #expect(answer.status >= 400 && !answer.body.contains("secret"), "\(outside)")
    }
  }

  @Test func theFirstPageSaysWhatRunsHere() throws {
    let site = Site.ofSuite
    let page = site.curl("/")
    #expect(page.status == 200)
    #expect(page.fields["content-type"] == "text/html; charset=utf-8")
    #expect(page.fields["cache-control"] == "no-store")
    #expect(page.fields["x-content-type-options"] == "nosniff")
    #expect(page.fields["x-request-id"]?.count == 32)
    #expect(page.body.contains("<p>This is Switchboard, the server of mobile apps."))
    for link in page.body.matches(of: /<a [^>]*href="([^"]*)"/).map({ String($0.1) }) {
      #expect(site.curl(link).status == 200, "\(link)")
    }
    #expect(site.curl("/", "--head").fields["content-length"] == "\(page.body.utf8.count)")
    let refused = site.curl("/", "--data", "{}")
    #expect(refused.status == 405)
    #expect(refused.fields["allow"] == "GET, HEAD")
  }

  private static let unknownToTheApp =
    #"{"error":"not_found","message":"The app asked for something that is not here. "#
    + #"Update the app and try again."}"#

  @Test func anUnknownPathIsNotFoundInTheShapeOfItsFamily() throws {
    let site = Site.ofSuite
    let shapes = [
      ("/nothing", #"{"error":"Not found"}"#),
      ("/api/v1", #"{"error":"Not found"}"#),
      ("/.error", #"{"error":"Not found"}"#),
      ("/api/v1/nothing", #"{"error":{"code":"not_found","message":"Not found"}}"#),
      ("/api/app-attestation/nothing", #"{"success":false,"error":"Not found"}"#),
      ("/api/push/nothing", #"{"error":"Not found"}"#),
      ("/api/mobile/nothing", Self.unknownToTheApp),
      ("/check", #"{"error":"Not found"}"#),
      ("/check/", #"{"error":"Not found"}"#),
      ("/check/7/games", #"{"error":"Not found"}"#),
      ("/register/7", #"{"error":"Not found"}"#),
    ]
    for (path, body) in shapes {
      let answer = site.curl(path)
      #expect(answer.status == 404, "\(path)")
      #expect(answer.body == body, "\(path)")
      #expect(answer.fields["content-type"] == "application/json", "\(path)")
    }
  }

  @Test func aBodyOverTheLimitIsRefusedInTheShapeOfItsFamily() throws {
    let text = "The body is larger than 65536 bytes"
    let preferences = #"{"error":{"code":"payload_too_large","message":"\#(text)"}}"#
    let sentence = "The app sent too much at once. Send less, or update the app and try again."
    let wallet = #"{"error":"payload_too_large","message":"\#(sentence)"}"#
    let shapes = [
      ("/api/v1/device-prefs", preferences),
      ("/api/app-attestation/verify", #"{"success":false,"error":"\#(text)"}"#),
      ("/api/mobile/device/register", wallet),
      ("/api/enrollment/callback", wallet),
      ("/api/merchant/payments", wallet),
      ("/register", #"{"error":"\#(text)"}"#),
      ("/generate-api-key", #"{"error":"\#(text)"}"#),
      ("/check/7", #"{"error":"\#(text)"}"#),
      ("/health", #"{"error":"\#(text)"}"#),
    ]
    let site = Site.ofSuite
    let file = site.state + "/body"
    for (path, body) in shapes {
      for framing in ["Accept: */*", "Transfer-Encoding: chunked"] {
        try Data(repeating: 32, count: 65_537).write(to: URL(filePath: file))
        let options = ["--data-binary", "@\(file)", "--header", framing]
        let answer = site.curl(path, options[0], options[1], options[2], options[3])
        #expect(answer.status == 413, "\(path) \(framing)")
        #expect(answer.body == body, "\(path) \(framing)")
        #expect(answer.fields["content-type"] == "application/json")
        #expect(answer.fields["x-request-id"]?.count == 32)
      }
      try Data(repeating: 32, count: 65_536).write(to: URL(filePath: file))
      #expect(site.curl(path, "--data-binary", "@\(file)").status != 413, "\(path)")
    }
  }

  @Test func everyWebServerPassesTheKeySetOn() throws {
    let site = Site.ofSuite
    let answer = site.curl("/.well-known/jwks.json")
    #expect(answer.status == 200)
    #expect(answer.fields["content-type"] == "application/jwk-set+json")
    #expect(answer.fields["cache-control"] == "public, max-age=300")
    #expect(answer.body.hasPrefix(#"{"keys":[{"kty":"EC","use":"sig","alg":"ES256","kid":"k1","#))
  }

  @Test func everyWebServerPassesTheDescriptionOn() throws {
    let site = Site.ofSuite
    let answer = site.curl("/openapi.json")
    #expect((answer.status, answer.fields["content-type"]) == (200, "application/json"))
    #expect(answer.fields["cache-control"] == "public, max-age=300")
    #expect(answer.body.hasPrefix(#"{"openapi":"3.1.1","#))
    let tag = try #require(answer.fields["etag"])
    #expect(site.curl("/openapi.json", "--header", "If-None-Match: \(tag)").status == 304)
    #expect(site.curl("/docs").status == 200)
  }

  @Test func errorsOfTheServerAtLinksToPaymentsArePages() throws {
    let site = Site.ofSuite
    let file = "\(site.state)/body"
    try Data(repeating: 32, count: 65_537).write(to: URL(filePath: file))
    let answer = site.curl("/pay/pay_aaaaaaaaaaaaaaaaaaaaaa", "--data-binary", "@\(file)")
    #expect(answer.status == 413)
    #expect(answer.fields["content-type"] == "text/html; charset=utf-8")
    #expect(answer.fields["cache-control"] == "no-store")
    #expect(answer.fields["content-security-policy"]?.hasPrefix("default-src 'none'") == true)
    #expect(answer.body.hasPrefix("<!DOCTYPE html>"))
  }

  @Test func theTurnsRefuseInTheWordsOfTheirContract() async throws {
    let body = #"{"user_id":"8","device_token":"\#(String(repeating: "a", count: 64))"}"#
    let noKey = "Accept: */*"
    try await withSite { site in
      let own = try site.issueKey(for: 7).header
      let refusals = [
        ("GET", "/check/7", noKey, "", 401, "API key required"),
        ("GET", "/diagnostics/7", "X-API-Key: wrong", "", 401, "Invalid API key"),
        ("GET", "/users-by-token/aa", noKey, "", 401, "API key required"),
        ("POST", "/register", "X_API_Key: wrong", body, 401, "API key required"),
        ("POST", "/register", "X.API.Key: wrong", body, 401, "API key required"),
        ("POST", "/generate-api-key", noKey, body, 401, "Invalid master key"),
        ("GET", "/check/8", own, "", 403, "API key does not belong to this user"),
        ("GET", "/diagnostics/8", own, "", 403, "API key does not belong to this user"),
        ("POST", "/register", own, body, 403, "API key does not belong to this user"),
        ("GET", "/check/seven", own, "", 400, "Invalid user ID"),
        ("POST", "/register", own, "{", 400, "Invalid JSON"),
        ("POST", "/register", own, "{}", 400, "user_id and device_token are required"),
        ("DELETE", "/register", own, "{}", 400, "device_token is required"),
        ("POST", "/generate-api-key", noKey, "[]", 400, "Invalid request"),
      ]
      for (method, path, header, body, status, text) in refusals {
        let answer = site.curl(
          path, "--request", method, "--header", header, "--data-binary", body)
        #expect(answer.status == status, "\(method) \(path)")
        #expect(answer.body == #"{"error":"\#(text)"}"#, "\(method) \(path)")
        #expect(answer.fields["content-type"] == "application/json")
        #expect(answer.fields["cache-control"] == "no-store")
        #expect(answer.fields["x-request-id"]?.count == 32)
      }
      let allowed = [
        ("PUT", "/register", "POST, DELETE"), ("GET", "/generate-api-key", "POST"),
        ("POST", "/check/7", "GET, HEAD"), ("DELETE", "/diagnostics/7", "GET, HEAD"),
        ("PATCH", "/users-by-token/aa", "GET, HEAD"),
      ]
      for (method, path, methods) in allowed {
        // lighttpd refuses a POST without a length.
        let length = Self.web.isLighttpd ? ["--header", "Content-Length: 0"] : []
        let answer = site.curl(path, ["--request", method, "--header", own] + length)
        #expect(answer.status == 405, "\(method) \(path)")
        #expect(answer.fields["allow"] == methods, "\(method) \(path)")
        #expect(answer.body == #"{"error":"Method not allowed"}"#)
      }
      for path in ["/diagnostics/7", "/users-by-token/aa"] {
        let whole = site.curl(path, "--header", own)
        let head = site.curl(path, "--head", "--header", own)
        #expect(whole.status == 200 && head.status == 200)
        #expect(head.fields["content-length"] == "\(whole.body.utf8.count)", "\(path)")
        #expect(head.body.isEmpty)
      }
    }
  }

  @Test func aHostileRequestReachesNoHandler() throws {
    let notFound = ["/api/v1%2Fdevice-prefs", "/api//v1/device-prefs", "/x/../health", "/x%5Cy"]
    let malformed = ["/..%2f..%2fetc/passwd", "/../../etc/passwd", "/health%00", "/%"]
    let site = Site.ofSuite
    for path in notFound {
      let answer = site.curl(path)
      #expect(answer.status == 404, "\(path)")
      #expect(answer.fields["content-type"] == "application/json", "\(path)")
    }
    for path in malformed {
      let answer = site.curl(path)
      // Apache and lighttpd pass some of these paths on; the responder does not know them.
      let isPassedOn = Self.web != .nginx && answer.status == 404
      #expect(answer.status == 400 || isPassedOn, "\(path)")
      let body = #"{"error":"\#(isPassedOn ? "Not found" : "Bad request")"}"#
      #expect(answer.body == body, "\(path)")
    }
    let lower = site.curl("/health", "--request", "get")
    #expect(lower.status == (Self.web.isLighttpd ? 501 : 400))
    let trace = site.curl("/health", "--request", "TRACE")
    #expect(trace.status == 405)
    #expect(trace.body == #"{"error":"Method not allowed"}"#)
    let long = site.curl("/health", "--header", "X-Long: " + String(repeating: "x", count: 9000))
    #expect(long.status == (Self.web.isLighttpd ? 431 : 400))
    #expect(long.body == #"{"error":"Bad request"}"#)
    let target = site.curl("/" + String(repeating: "x", count: 9000))
    #expect(target.status == (Self.web.isLighttpd ? 431 : 414))
    #expect(Self.web.isLighttpd || target.body == #"{"error":"Request target too long"}"#)
    #expect(site.curl("/health").status == 200)
  }

  @Test func theAccessLogHoldsTheIdButNoSecret() throws {
    // Correct places for a token, and places where people put it by mistake.
    let paths = [
      "/users-by-token/SECRET", "/Users-By-Token/SECRET", "/users%2Dby-token/SECRET",
      "/users-by-token%2fSECRET", "//users-by-token/SECRET", "/x/users-by-token/SECRET",
      "/ws%3Ftoken=SECRET", "/api/file%3ftoken=SECRET", "/api/file;token=SECRET",
      "/ws&token=SECRET", "/ws/SECRET", "/api/claude/SECRET", "/api/claude/run/SECRET/x",
      "/account/SECRET", "/api/auth/ticket=SECRET", "/SECRET",
    ]
    let site = Site.ofSuite
    let secret = "cdev_s_s3cret" + String(repeating: "x", count: 32)
    var ids: [String] = []
    for query in ["token=s3cret", "a=1&%74oken=s3cret", "code=s3cret&state=s3cret"] {
      let answer = site.curl(
        "/ws?" + query, "--header", "Authorization: Bearer s3cret",
        "--referer", "http://a/?token=s3cret")
      ids.append(try #require(answer.fields["x-request-id"]))
    }
    for path in paths {
      let answer = site.curl(path.replacingOccurrences(of: "SECRET", with: secret))
      // An unreadable path gets no request id.
      if let id = answer.fields["x-request-id"] { ids.append(id) }
    }
    // The web server writes the log lines after the answers.
    try wait(for: "all requests in the log of the web server") {
      let log = try site.log("web-access")
      return ids.allSatisfy { log.contains($0) }
    }
    let log = try site.log("web-access")
    #expect(log.contains(#""GET /ws?[redacted] HTTP/1.1" 401"#))
    #expect(log.contains(#""GET /users-by-token/[redacted] HTTP/1.1""#))
    for name in Site.logs { #expect(try !site.log(name).contains("s3cret"), "\(name)") }
  }

  /// nginx's error log shows whole request lines.
  @Test(.enabled(if: web.hasResponder))
  func whileTheResponderIsAwayNoTokenOfAPathReachesALog() async throws {
    try await withSite { site in
      kill(try #require(site.keeper(of: "responder")), SIGKILL)
      kill(try #require(site.pid(of: "responder")), SIGKILL)
      let secret = "s3cret" + String(repeating: "x", count: 58)
      for path in ["/users-by-token/", "/ws%3Ftoken=", "/nothing/", "/account/", "/api/auth/"] {
        wait(for: "a server error for \(path)") { site.curl(path + secret).status >= 500 }
      }
      for name in Site.logs { #expect(try !site.log(name).contains("s3cret"), "\(name)") }
    }
  }

  /// The web server waits for the whole request; otherwise the responder waits.
  @Test func slowBodiesStopNobody() throws {
    let site = Site.ofSuite
    var statuses: Set<String?> = []
    var time = Duration.zero
    repeat {
      let begin = ContinuousClock.now
      let slow = (0..<24).map { _ in
        let wire = Wire(port: site.port)
        wire.write(
          "POST /api/v1/device-prefs HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{")
        return wire
      }
      #expect(site.curl("/health").status == 200)
      for wire in slow { wire.write("        ") }
      time = .now - begin
      statuses = Set(slow.map { $0.head().map { String($0.dropFirst(9).prefix(3)) } })
      // Again on a machine that was too slow: the web server waits 10 s for the next octet of a body.
    } while time > .seconds(9)
    #expect(statuses == ["401"])
  }

  @Test(.enabled(if: web.hasResponder))
  func whatTheWebServerAnswersForTheResponderSaysWhenToAskAgain() async throws {
    let shapes = [
      ("/health", #"{"error":"Temporarily unavailable"}"#),
      (
        "/api/v1/device-prefs",
        #"{"error":{"code":"server_error","message":"Temporarily unavailable"}}"#
      ),
      (
        "/api/app-attestation/verify",
        #"{"success":false,"error":"Temporarily unavailable"}"#
      ),
      ("/api/push/test", #"{"error":"Temporarily unavailable"}"#),
      (
        "/api/mobile/device/register",
        #"{"error":"server_error","message":"We cannot answer at the moment. Try again in a few seconds."}"#
      ),
      ("/register", #"{"error":"Temporarily unavailable"}"#),
      ("/check/7", #"{"error":"Temporarily unavailable"}"#),
    ]
    try await withSite { site in
      func expect(_ status: Int, of shapes: some Sequence<(String, String)>) {
        for (path, body) in shapes {
          let answer = site.curl(path)
          #expect(answer.status == status, "\(path)")
          #expect(answer.body == body, "\(path)")
          #expect(answer.fields["retry-after"] == "2", "\(path)")
          #expect(answer.fields["cache-control"] == "no-store", "\(path)")
          #expect(answer.fields["x-request-id"]?.count == 32, "\(path)")
        }
      }
      let responder = try #require(site.pid(of: "responder"))
      freeze(responder)
      expect(504, of: shapes.prefix(1))  // after 15 s
      kill(try #require(site.keeper(of: "responder")), SIGKILL)
      kill(responder, SIGKILL)
      wait(for: "the end of the responder") { kill(responder, 0) != 0 }
      expect(Self.web == .nginx ? 502 : 503, of: shapes)
    }
  }
}

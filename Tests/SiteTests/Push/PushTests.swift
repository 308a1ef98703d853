import Foundation
import Support
import Testing

/// Push behind nginx, without Apple.
@Suite(.serialized) struct PushTests {
  @Test func aPageMayReadThatItsBodyIsTooLarge() async throws {
    try await withSite(environment: ["SWITCHBOARD_ALLOWED_ORIGINS": "tauri://localhost"]) { site in
      let file = site.state + "/body"
      try Data(repeating: 32, count: 65_537).write(to: URL(filePath: file))
      // The action matters because an empty body would remove every token.
      for framing in ["Accept: */*", "Transfer-Encoding: chunked"] {
        func post(from origin: String) -> Site.Answer {
          site.curl(
            "/api/push/unregister", "--header", "Origin: \(origin)", "--header", framing,
            "--data-binary", "@\(file)")
        }
        let answer = post(from: "tauri://localhost")
        #expect(answer.status == 413)
        #expect(answer.body == #"{"error":"The body is larger than 65536 bytes"}"#)
        #expect(answer.fields["access-control-allow-origin"] == "tauri://localhost")
        #expect(answer.fields["vary"] == "Origin")
        #expect(answer.fields["x-request-id"]?.count == 32)
        let foreign = post(from: "https://evil.example")
        #expect(foreign.status == 403)
        #expect(foreign.fields["access-control-allow-origin"] == nil)
      }
    }
  }

  @Test func aPageRegistersATokenThroughNginx() async throws {
    try await withSite(environment: ["SWITCHBOARD_ALLOWED_ORIGINS": "tauri://localhost"]) { site in
      let ann = try site.signUp()
      let token = String(repeating: "a", count: 64)
      let preflight = site.curl(
        "/api/push/register", "--request", "OPTIONS", "--header", "Origin;", "--header",
        "Origin: tauri://localhost", "--header", "Origin: http://evil.example", "--header",
        "Access-Control-Request-Method: POST", "--header",
        "Access-Control-Request-Headers: content-type", "--header",
        "Access-Control-Request-Headers: x-username, Content-Type")
      #expect(preflight.status == 204)
      #expect(preflight.fields["access-control-allow-origin"] == "tauri://localhost")
      #expect(preflight.fields["access-control-allow-headers"] == "content-type, x-username")
      #expect(preflight.body.isEmpty)

      func post(_ action: String, _ json: String, origin: String = "tauri://localhost")
        -> Site
        .Answer
      {
        site.curl(
          "/api/push/\(action)", "--header", "Origin: \(origin)", "--header", ann.bearer,
          "--header", "X-Username: \(ann.email)", "--data", json)
      }
      let registered = post("register", #"{"token":"\#(token)"}"#)
      #expect(registered.body == #"{"success":true,"token":"\#(token)","platform":"ios"}"#)
      #expect(post("register", "{}", origin: "http://evil.example").status == 403)

      // The companion's first pass records that the settings of APNs are missing.
      try wait(for: "the first pass of the companion") {
        try site.sql("SELECT COUNT(*) FROM companion_status") == "1\n"
      }
      let tested = post("test", "{}")
      #expect(tested.status == 500)
      #expect(
        tested.body
          == #"{"error":"APNs is not configured.","missingEnvVars":["APNS_KEY_ID","APNS_TEAM_ID","APNS_BUNDLE_ID","APNS_PRIVATE_KEY"]}"#
      )
      #expect(tested.fields["access-control-allow-origin"] == "tauri://localhost")
      #expect(post("unregister", "").body.contains(#""removed":1"#))
    }
  }
}

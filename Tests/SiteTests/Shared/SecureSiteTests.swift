import Foundation
import Support
import Testing

/// `nginx/site.conf` in front of a site's responder.
@Suite(.serialized, .enabled(if: WebServer.ofTests == .nginx), .oneSite) struct SecureSiteTests {
  private static let name = "switchboard.example.org"

  /// nginx with `site.conf`, in which only host-specific values are replaced.
  private struct SecureSite {
    let folder: String
    let http = freePort()
    let https = freePort()

    /// Sends one request with `curl` to the port of `scheme`, for the host `name`.
    func curl(_ scheme: String, _ path: String, host: String = name, _ more: String...)
      -> (answer: Site.Answer, status: Int32)
    {
      let port = scheme == "http" ? http : https
      let options = [
        "curl", "--silent", "--include", "--insecure", "--noproxy", "*",
        "--resolve", "\(host):\(port):127.0.0.1", "--header", "Host: \(host)",
      ]
      let outcome = Site.run(options + more + ["\(scheme)://\(host):\(port)\(path)"])
      return (Site.Answer(outcome.output), outcome.status)
    }
  }

  private func withSecureSite(_ body: (SecureSite) throws -> Void) throws {
    let site = Site.ofSuite
    let secure = SecureSite(folder: "\(site.state)/secure-\(UUID())")
    let folder = secure.folder
    try FileManager.default.createDirectory(
      atPath: "\(folder)/tls", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder)/switchboard",
      withDestinationPath: projectFolder.appending(path: "nginx").path())
    let made = Site.run([
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
      "-subj", "/CN=\(Self.name)", "-days", "2", "-keyout", "\(folder)/tls/switchboard.key",
      "-out", "\(folder)/tls/switchboard.crt",
    ])
    try #require(made.status == 0, "\(made.output)")
    try configuration(of: secure, at: site).write(
      toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
    // In the foreground, because Process would also wait for the end of a daemon.
    let nginx = Process()
    nginx.executableURL = URL(filePath: "/usr/bin/env")
    nginx.arguments = [
      "nginx", "-c", "\(folder)/nginx.conf", "-e", "\(folder)/error.log", "-g", "daemon off;",
    ]
    try nginx.run()
    defer {
      nginx.terminate()
      nginx.waitUntilExit()
    }
    wait(for: "the redirection to HTTPS") { secure.curl("http", "/").answer.status == 301 }
    try body(secure)
  }

  private func configuration(of secure: SecureSite, at site: Site) throws -> String {
    var text = try String(
      contentsOf: projectFolder.appending(path: "nginx/site.conf"), encoding: .utf8)
    for (own, other) in [
      ("listen 80", "listen 127.0.0.1:\(secure.http)"),
      ("listen [::]:80", "listen 127.0.0.2:\(secure.http)"),
      ("listen 443", "listen 127.0.0.1:\(secure.https)"),
      ("listen [::]:443", "listen 127.0.0.2:\(secure.https)"),
      ("/var/log/nginx/", "\(secure.folder)/"),
      ("/var/lib/switchboard/acme", "\(secure.folder)/acme"),
      ("/run/switchboard/responder.sock", "\(site.state)/run/responder.sock"),
    ] {
      try #require(text.contains(own))
      text = text.replacingOccurrences(of: own, with: other)
    }
    let folders = ["client_body", "fastcgi", "proxy", "scgi", "uwsgi"].map {
      "\($0)_temp_path \(secure.folder)/\($0);"
    }
    return """
      \(geteuid() == 0 ? "user root root;" : "")
      pid \(secure.folder)/pid;
      events {}
      http {
        access_log \(secure.folder)/other.log;
        \(folders.joined(separator: "\n"))
        \(text)
      }
      """
  }

  @Test func everyAnswerTellsBrowsersToComeBackByHTTPS() throws {
    try withSecureSite { secure in
      // Answers of a handler, a family, nginx, and of the pairing page, which does not serve this
      // host.
      for (path, status) in [
        ("/health", 200), ("/api/v1/models", 200), ("/api/mobile/nothing", 404), ("/%", 400),
        ("/pair", 403),
      ] {
        let answer = secure.curl("https", path).answer
        #expect(answer.status == status, "\(path)")
        #expect(answer.fields["strict-transport-security"] == "max-age=31536000", "\(path)")
        #expect(answer.fields["x-content-type-options"] == "nosniff", "\(path)")
        #expect(answer.fields["x-request-id"]?.count == 32, "\(path)")
      }
      let large = secure.curl(
        "https", "/api/mobile/auth/login/password", "--data",
        String(repeating: "x", count: 65_537))
      #expect(large.answer.status == 413)
      #expect(large.answer.fields["strict-transport-security"] == "max-age=31536000")
      // The log must not even contain the length of a password.
      let log = try String(contentsOfFile: "\(secure.folder)/error.log", encoding: .utf8)
      #expect(!log.contains("65537"))
    }
  }

  /// Pages send `nosniff` themselves, for other web servers.
  @Test func aSiteWithoutTLSDoesNotSpeakOfIt() throws {
    let site = Site.ofSuite
    for path in ["/pair", "/health"] {
      let answer = site.curl(path)
      #expect(answer.status == 200)
      #expect(answer.fields["strict-transport-security"] == nil)
      #expect(answer.fields["x-content-type-options"] == "nosniff", "once")
    }
  }

  /// HTTP/2 needs no length, and proxies and apps leave it out.
  @Test(arguments: [2, 10_000, 65_536, 65_537])
  func aBodyWithoutALengthIsRead(count: Int) throws {
    try withSecureSite { secure in
      let space = String(repeating: " ", count: count - 2)
      let answer = secure.curl(
        "https", "/api/auth/exchange", "--http2", "--header", "Content-Length:", "--header",
        "Content-Type: application/json", "--data", "{\(space)}"
      ).answer
      // The body is an object without members.
      let isTooLarge = count > 65_536
      #expect(answer.status == (isTooLarge ? 413 : 400))
      #expect(isTooLarge || answer.body == #"{"error":"pairing_token is required"}"#)
    }
  }

  @Test func httpLeadsToHTTPS() throws {
    try withSecureSite { secure in
      let answer = secure.curl("http", "/pair?token=secret-token").answer
      #expect(answer.status == 301)
      #expect(answer.fields["location"] == "https://\(Self.name)/pair?token=secret-token")
      #expect(answer.fields["strict-transport-security"] == nil)
      for log in ["switchboard.log", "other.log"] {
        let text = try String(contentsOfFile: "\(secure.folder)/\(log)", encoding: .utf8)
        #expect(!text.contains("secret-token"))
      }
    }
  }

  /// nginx serves certbot's files on the authority's port and for the requested name.
  @Test func anAuthorityFindsWhatItAsksFor() throws {
    try withSecureSite { secure in
      let folder = "\(secure.folder)/acme/.well-known/acme-challenge"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try "token.thumbprint".write(toFile: "\(folder)/token", atomically: true, encoding: .utf8)
      try "secret".write(toFile: "\(secure.folder)/acme/secret", atomically: true, encoding: .utf8)
      let answer = secure.curl("http", "/.well-known/acme-challenge/token").answer
      #expect(answer.status == 200 && answer.body == "token.thumbprint")
      #expect(secure.curl("http", "/.well-known/acme-challenge/other").answer.status == 404)
      let outside = secure.curl(
        "http", "/.well-known/acme-challenge/../../secret", host: Self.name, "--path-as-is")
      #expect(outside.answer.status == 301)
      let stranger = secure.curl(
        "http", "/.well-known/acme-challenge/token", host: "other.example.org")
      #expect(stranger.answer.status == 0)
    }
  }

  @Test(arguments: ["tls1_2", "tls1_3"])
  func aTLSSessionIsResumedAlsoAfterAReload(version: String) throws {
    try withSecureSite { secure in
      func connect(_ option: String) -> String {
        let request = #"GET /health HTTP/1.1\r\nHost: \#(Self.name)\r\nConnection: close\r\n\r\n"#
        let client =
          "openssl s_client -connect 127.0.0.1:\(secure.https) -servername \(Self.name) -\(version)"
        return Site.run([
          "sh", "-c",
          "printf '\(request)' | \(client) -ign_eof -\(option) \(secure.folder)/session 2>&1",
        ]).output
      }
      let master = try String(contentsOfFile: "\(secure.folder)/pid", encoding: .utf8)
        .trimmingCharacters(in: .whitespacesAndNewlines)
      let workers = { Set(Site.run(["pgrep", "-P", master]).output.split(separator: "\n")) }
      let first = connect("sess_out")
      #expect(first.contains("New, TLS"), "\(first)")
      let old = workers()
      kill(try #require(pid_t(master)), SIGHUP)
      wait(for: "new workers of nginx") { !workers().isEmpty && workers().isDisjoint(with: old) }
      let second = connect("sess_in")
      #expect(second.contains("Reused, TLS"), "\(second)")
    }
  }

  @Test(arguments: ["other.example.org", "localhost"])
  func otherNamesGetNoAnswer(host: String) throws {
    try withSecureSite { secure in
      let plain = secure.curl("http", "/health", host: host)
      #expect(plain.status == 52, "curl: empty reply")
      #expect(plain.answer.status == 0)
      let sealed = secure.curl("https", "/health", host: host)
      #expect(sealed.status == 35, "curl: no handshake")
      #expect(sealed.answer.status == 0)
    }
  }
}

import Base
import HTTP
import ProcessSupport
import SharedSettings
import Store
import Support
import Testing

@testable import API
@testable import switchboard_responder

/// Addresses that may pair phones, and access to an agent that requires no token.
@Suite struct PairingAccessTests {
  private static let access = PairingAccess(
    allowed: [IPNetwork("198.51.100.0/24")!, IPNetwork("2001:db8::/32")!],
    proxies: [IPNetwork("203.0.113.7")!])

  private func site<T>(
    requiresAuth: Bool = true, _ body: (TestApplication) throws -> T
  ) throws -> T {
    let agent = GuardedAgent(publicURL: "http://127.0.0.1:8766", requiresAuth: requiresAuth)
    return try withAgent(agent) { site in
      let other = TestApplication(
        site.root, settings: .ofTests(agent: agent, pairingAccess: Self.access))
      return try body(other)
    }
  }

  @Test(arguments: [
    ("127.0.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("198.51.100.200", true),
    ("2001:db8:1::5", true), ("127.0.0.2", false), ("198.51.101.1", false), ("2001:db9::1", false),
    ("203.0.113.7", false), ("", false), ("localhost", false), ("unix:", false),
  ])
  func onlyTheListedAddressesPair(_ address: String, _ isAllowed: Bool) throws {
    try site { site throws in
      for (method, path) in [
        ("GET", "/pair"), ("POST", "/pair"), ("GET", "/pair/phones"), ("POST", "/pair/phones"),
        ("POST", "/pair/phones/name"),
        ("GET", "/api/pair/info"), ("GET", "/api/pair/qr"), ("POST", "/api/pair/refresh"),
        ("POST", "/api/pair/code"),
      ] {
        let answer = site.send(method, path, address: address)
        #expect((answer.status == 403) == !isAllowed, "\(method) \(path): \(answer.status)")
      }
    }
  }

  @Test(arguments: PairingAccess.forwardingFields)
  func whatAnUnknownProxyHasPassedOnIsRefused(_ field: String) throws {
    try site { site throws in
      let fields = [(name: field, value: "127.0.0.1")]
      #expect(
        site.send("GET", "/api/pair/info", fields: fields, address: "127.0.0.1").status == 403)
    }
  }

  @Test(arguments: [
    ("198.51.100.1", true), ("192.0.2.9, 198.51.100.1", true), ("198.51.100.1, 203.0.113.7", true),
    ("198.51.100.1, 192.0.2.9", false), ("203.0.113.7", false), ("", false), ("x", false),
    ("127.0.0.1:80", false),
  ])
  func aTrustedProxySaysWhoAsks(_ hops: String, _ isAllowed: Bool) throws {
    try site { site throws in
      let fields = [(name: "X-Forwarded-For", value: hops)]
      let answer = site.send("GET", "/api/pair/info", fields: fields, address: "203.0.113.7")
      #expect((answer.status == 200) == isAllowed)
    }
  }

  /// The caller's address for limits and the audit log.
  @Test(arguments: [
    ("198.51.100.1", "203.0.113.7", "198.51.100.1"),
    ("x, 2001:db8::9", "203.0.113.7", "2001:db8::9"),
    ("198.51.100.1, 203.0.113.7", "203.0.113.7", "198.51.100.1"),
    // The comma after U+0600 is no character by itself.
    ("x,\u{600}, 198.51.100.1", "203.0.113.7", "198.51.100.1"),
    ("x", "203.0.113.7", "203.0.113.7"),
    ("", "203.0.113.7", "203.0.113.7"), ("198.51.100.1", "192.0.2.9", "192.0.2.9"),
  ])
  func theCallerIsWhomATrustedProxyNames(_ hops: String, _ sender: String, _ caller: String) throws
  {
    try site { site throws in
      let body =
        #"{"email":"a@example.org","name":"A","deviceId":"d","deviceName":"P","platform":"ios"}"#
      let answer = site.send(
        "POST", "/api/mobile/auth/register", body, fields: [(name: "X-Forwarded-For", value: hops)],
        address: sender)
      #expect(answer.status == 201)
      #expect(site.sql("SELECT created_from FROM accounts") == caller)
    }
  }

  @Test(arguments: [
    (["Sec-Fetch-Site": "cross-site"], 403), (["Sec-Fetch-Site": "same-site"], 403),
    (
      ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"],
      403
    ),
    (
      ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"],
      200
    ), (["Sec-Fetch-Site": "same-origin"], 200), (["Sec-Fetch-Site": "none"], 200),
  ])
  func anotherSitesPageCannotShowTheCode(_ fields: [String: String], _ status: Int) throws {
    try site { site throws in
      let given = fields.map { (name: $0.key, value: $0.value) }
      #expect(site.send("GET", "/pair", fields: given, address: "127.0.0.1").status == status)
    }
  }

  /// The authorizer's FastCGI answer to a request for `/api/file`.
  private func authorization(_ bearer: String, _ site: TestApplication) -> Response? {
    var parameters = Parameters()
    for (name, value) in [
      ("REQUEST_METHOD", "POST"), ("SCRIPT_NAME", "/api/file"), ("REQUEST_URI", "/api/file?a=b"),
      ("REMOTE_ADDR", "127.0.0.1"), ("HTTP_AUTHORIZATION", "Bearer \(bearer)"),
    ] { parameters.append(name, value) }
    return Request(authorizing: parameters).map { site.application.checkedResponse(to: $0) }
  }

  @Test func anAuthorizerLetsPassWithAVariableAndRefusesInFull() throws {
    try site { site throws in
      let token = site.send("GET", "/api/pair/info", address: "127.0.0.1").string("token") ?? ""
      let admitted = try #require(authorization(token, site))
      #expect(admitted.status == 200)
      #expect(admitted.body.isEmpty)
      let variable = admitted.fields.first { $0.name == "Variable-ADMITTED_BY" }?.value
      #expect(variable?.hasPrefix("token ") == true, "\(variable ?? "none")")
      let refused = try #require(authorization("cdev_s_wrong", site))
      #expect(refused.status == 401)
      #expect(String(decoding: refused.body, as: UTF8.self) == #"{"error":"Unauthorized"}"#)
      #expect(refused.fields.contains { $0 == ("WWW-Authenticate", "Bearer") })
    }
  }

  @Test func aRequestWithoutAnIdGetsOne() throws {
    try site { site throws in
      let requests = [
        Request(path: "/health", requestID: ""), Request(path: "/health", requestID: ""),
      ]
      let ids = requests.map { request in
        site.application.checkedResponse(to: request).fields.first { $0.name == "X-Request-Id" }?
          .value
      }
      #expect(ids.allSatisfy { $0?.utf8.count == 32 })
      #expect(ids[0] != ids[1])
    }
  }

  /// The status for a WebSocket with a valid token.
  private func status(
    of fields: [(String, String)], for target: String = "/ws", _ site: TestApplication
  ) throws -> Int {
    let token = site.send("GET", "/api/pair/info", address: "127.0.0.1").string("token") ?? ""
    let all = fields + [("Authorization", "Bearer \(token)")]
    return site.application.checkedResponse(
      to: Request(path: "/_auth", fields: all.map { (name: $0, value: $1) }, requestURI: target)
    ).status
  }

  @Test(arguments: [
    (nil, 204), ("http://127.0.0.1:8766", 204), (TestApplication.publicURL, 204), ("null", 403),
    ("http://evil.example", 403), ("", 403), ("http://127.0.0.1", 403),
  ])
  func aWebSocketIsOpenedByOwnPagesAndByAppsOnly(_ origin: String?, _ expected: Int) throws {
    try site { site throws in
      let fields = [("Host", "127.0.0.1:8766")] + (origin.map { [("Origin", $0)] } ?? [])
      // The same path with other spellings.
      for target in ["/ws", "/%77s", "/w%73?x=1", "/%77%73"] {
        let found = try status(of: fields, for: target, site)
        #expect(found == expected, "\(target)")
      }
    }
  }

  /// A person may follow a link from a page of another site, but such a page may do nothing else.
  @Test(arguments: [("GET", true), ("POST", false), ("DELETE", false), ("HEAD", false)])
  func withoutTokensTheMethodOfTheRequestCounts(_ method: String, _ isAdmitted: Bool) throws {
    try site(requiresAuth: false) { site throws in
      var parameters = Parameters()
      for (name, value) in [
        ("REQUEST_URI", "/api/claude/run"), ("REMOTE_ADDR", "127.0.0.1"),
        ("HTTP_SEC_FETCH_SITE", "cross-site"), ("HTTP_SEC_FETCH_MODE", "navigate"),
        ("HTTP_SEC_FETCH_DEST", "document"),
      ] { parameters.append(name, value) }
      var authorizer = parameters
      authorizer.append("REQUEST_METHOD", method)
      let asked = try #require(Request(authorizing: authorizer))
      #expect(site.application.checkedResponse(to: asked).status == (isAdmitted ? 200 : 403))
      for (name, value) in [
        ("REQUEST_METHOD", "GET"), ("SCRIPT_NAME", "/_auth"), ("GUARDED_METHOD", method),
      ] { parameters.append(name, value) }
      let subrequest = try #require(Request(parameters, body: [], bodyDefect: nil))
      #expect(site.application.checkedResponse(to: subrequest).status == (isAdmitted ? 204 : 403))
    }
  }

  @Test(arguments: [
    ([:], "127.0.0.1", 204), ([:], "198.51.100.3", 204), ([:], "192.0.2.1", 403),
    (["Host": "evil.example"], "127.0.0.1", 403), (["X-Forwarded-For": "::1"], "127.0.0.1", 403),
    (["Host": "localhost", "Origin": "http://evil.example"], "127.0.0.1", 403),
  ])
  func withoutTokensThisMachineAloneReachesTheAgent(
    _ fields: [String: String], _ address: String, _ status: Int
  ) throws {
    try site(requiresAuth: false) { site throws in
      for target in ["/ws", "/api/file", "/api/claude/run"] {
        let request = Request(
          path: "/_auth", fields: fields.map { (name: $0.key, value: $0.value) },
          remoteAddress: address, requestURI: target)
        #expect(site.application.checkedResponse(to: request).status == status, "\(target)")
      }
    }
  }

  @Test(arguments: [
    ("SWITCHBOARD_REQUIRE_AUTH", "false"), ("SWITCHBOARD_PAIRING_ALLOW", "192.0.2.0/33"),
    ("SWITCHBOARD_PAIRING_ALLOW", "my-laptop"), ("SWITCHBOARD_TRUSTED_PROXIES", "192.0.2.1;::1"),
    ("SWITCHBOARD_TRUSTED_PROXIES", "192.0.2.0/x"),
  ])
  func productionRefusesTheSetting(_ name: String, _ value: String) {
    var environment = Environment([name: value])
    _ = API.Settings(from: &environment)
    #expect(environment.complaints.contains { $0.hasPrefix("\(name) must") })
  }

  @Test func elsewhereTheTokenMayBeLeftOut() {
    var environment = Environment([
      "SWITCHBOARD_REQUIRE_AUTH": "false", "SWITCHBOARD_ENV": "development",
      "SWITCHBOARD_PAIRING_ALLOW": "192.0.2.0/24, 2001:db8::1",
    ])
    _ = API.Settings(from: &environment)
    #expect(
      !environment.complaints.contains { $0.contains("REQUIRE_AUTH") || $0.contains("ALLOW") })
  }
}

/// Attackers' requests for a pairing token or for access to the agent. PORT stands for the site's
/// port.
enum AttackShapes {
  struct Shape: Sendable {
    let name: String
    /// The request line and the header fields.
    let lines: [String]

    init(_ name: String, _ lines: String...) {
      self.name = name
      self.lines = lines
    }

    init(_ line: String, fields: [String]) {
      name = ([line] + fields).joined(separator: " | ")
      lines = [line] + fields
    }

    /// Whether lighttpd turns this request into a valid one: it drops fields without a value, and
    /// the dot at the end of a host's name. No browser sends such a field, and a name server cannot
    /// give `localhost.` another address.
    var isMendedByLighttpd: Bool {
      lines.contains { $0.hasSuffix(": ") || $0 == "Host: localhost.:PORT" }
    }
  }

  static let all = origins + hosts + forwarded + fetches + paths + credentials + targets

  private static let host = "Host: 127.0.0.1:PORT"
  private static let pairing = [
    "GET /api/pair/info HTTP/1.1", "GET /api/pair/qr HTTP/1.1", "GET /pair HTTP/1.1",
    "POST /api/pair/refresh HTTP/1.1",
  ]
  private static let socket = [
    "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ]

  /// Pages of other sites; the WebSocket has a valid token.
  private static let origins = [
    "http://evil.example", "https://evil.example", "null", "", "http://127.0.0.1",
    "http://127.0.0.1:1", "http://localhost:PORT", "http://127.0.0.1:PORT.evil.example",
    "http://evil.example/127.0.0.1:PORT", "http://127.0.0.1:PORT@evil.example", "file://",
    "chrome-extension://abcdefgh", "http://127.0.0.1:PORT, http://evil.example",
  ].flatMap { origin in
    ([pairing[0], pairing[3]].map { Shape($0, fields: [host, "Origin: \(origin)"]) })
      + ["/ws", "/%77s", "/w%73?a"].map { target in
        Shape(
          "GET \(target) HTTP/1.1",
          fields: [host, "Origin: \(origin)", "Authorization: Bearer TOKEN"] + socket)
      }
  }

  /// Names that an attacker's name server resolves to this address.
  private static let hosts = [
    "evil.example", "evil.example:PORT", "127.0.0.1.evil.example:PORT", "localhost.evil.example",
    "127.0.0.1:PORT.evil.example", "foo.localhost:PORT", "localhost.:PORT", "127.0.0.1.nip.io",
    "xn--localhost-9za", "[::1].evil.example", "a@127.0.0.1",
  ].flatMap { name in pairing.map { Shape($0, fields: ["Host: \(name)"]) } }

  /// Header fields of proxies that are not configured.
  private static let forwarded = [
    "X-Forwarded-For: 127.0.0.1", "X-Forwarded-For: 203.0.113.9", "X-Forwarded-For: ::1, 127.0.0.1",
    "x-forwarded-for: ", "Forwarded: for=127.0.0.1", "X-Real-IP: 127.0.0.1", "Via: 1.1 proxy",
    "X-Forwarded-Host: 127.0.0.1", "X-Forwarded-Proto: https", "X-Forwarded-Port: 443",
    "X-Forwarded-Server: a", "X-Client-IP: 127.0.0.1", "X-Cluster-Client-IP: 127.0.0.1",
    "True-Client-IP: 127.0.0.1", "CF-Connecting-IP: 127.0.0.1", "Fastly-Client-IP: 127.0.0.1",
    "Client-IP: 127.0.0.1", "X-Original-Forwarded-For: 127.0.0.1",
  ].flatMap { field in
    [pairing[0], pairing[3], pairing[2]].map { Shape($0, fields: [host, field]) }
  }

  /// A browser's header fields for a page of another origin that embeds the answer.
  private static let fetches = ["cross-site", "same-site"].flatMap { site in
    pairing.map { Shape($0, fields: [host, "Sec-Fetch-Site: \(site)", "Sec-Fetch-Mode: no-cors"]) }
  }

  /// Other spellings of the paths, without a token.
  private static let paths = [
    "/api/%63laude/run", "/api/claude/run", "//ws", "/ws/", "/%77s", "/ws%00", "/ws%2f", "/./ws",
    "/x/../ws", "/api/claude/../file", "/api/claude/..%2ffile", "/api//git/status",
    "/api/git/%2e%2e/file",
    "/api/file/", "/api/file%3ftoken=x", "/api/file;token=x", "/API/file", "/api/file?token=",
    "/api/file?token", "/api/file?TOKEN=TOKEN", "/api/file?token[]=TOKEN",
    "/api/file?to%256ben=TOKEN",
    "/api/file?x=1;token=TOKEN", "/_auth", "/_auth?token=TOKEN",
    "/_agent",
    "/api/claude/%5c..%5cpair", "/api/claude/%2e%2e/%2e%2e/_agent",
    "/ws?token=cdev_s_x&token=TOKEN",
  ].map { Shape("GET \($0) HTTP/1.1", fields: [host]) }

  /// Header fields that a server could mistake for a token, or for nginx's own fields.
  private static let credentials = [
    "X-Admitted-By: anyone", "X_Admitted_By: anyone", "X-Admitted-By: phone x y",
    "X-Paired-Device: id=\"x\"", "Authorization: Basic TOKEN", "Authorization: TOKEN",
    "X_Authorization: Bearer TOKEN", "Authorization : Bearer TOKEN", "Cookie: token=TOKEN",
    "X-Original-URI: /ws?token=TOKEN", "X-Original-URL: /ws?token=TOKEN", "X-Rewrite-URL: /pair",
    "Transfer-Encoding: chunked", "Content-Length: 0\r\nContent-Length: 1",
    "Proxy-Authorization: Bearer TOKEN",
    "Sec-WebSocket-Protocol: TOKEN",
  ].flatMap { field in
    ["GET /ws HTTP/1.1", "GET /api/file HTTP/1.1"].map { Shape($0, fields: [host, field]) }
  }

  /// Targets that contain a server, old versions, and several hosts.
  private static let targets = [
    Shape("GET http://evil.example/api/pair/info HTTP/1.1", fields: [host]),
    Shape("GET http://evil.example:PORT/pair HTTP/1.1", fields: [host]),
    Shape("GET http://127.0.0.1:PORT/ws HTTP/1.1", fields: [host] + socket),
    Shape(
      "GET http://user@127.0.0.1:PORT/pair HTTP/1.1", fields: [host, "Origin: http://evil.example"]),
    Shape("GET /ws HTTP/1.0", fields: socket), Shape("GET /api/file HTTP/1.0", fields: []),
    Shape("GET /api/pair/info HTTP/1.0", fields: ["Origin: http://localhost:PORT"]),
    Shape("POST /pair HTTP/1.0", fields: ["Origin: http://evil.example"]),
    Shape("GET /api/pair/info HTTP/1.1", fields: [host, "Host: evil.example"]),
    Shape("GET /api/pair/info HTTP/1.1", fields: ["Host: evil.example", host]),
    Shape("CONNECT 127.0.0.1:PORT HTTP/1.1", fields: [host]), Shape("GET /ws", fields: []),
    Shape("OPTIONS * HTTP/1.1", fields: [host]), Shape("TRACE /pair HTTP/1.1", fields: [host]),
    Shape("PUT /api/pair/info HTTP/1.1", fields: [host]),
  ]
}

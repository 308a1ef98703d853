import Cryptography
import Foundation
import Synchronization

/// A push service (RFC 8030) at an https address of this machine. It refuses what real ones refuse:
/// messages without TTL, without encryption or too large, and senders with an invalid VAPID token
/// (RFC 8292).
package final class FakePushService: Sendable {
  package struct Message: Sendable {
    /// The last part of the address.
    package let subscription: String
    /// The header fields, by name in lower case.
    package let fields: [String: String]
    package let body: [UInt8]
  }

  /// An answer for one subscription, sent without checking the message.
  package struct Fault: Sendable {
    let status: Int
    let fields: String

    package init(_ status: Int, fields: String = "") {
      self.status = status
      self.fields = fields
    }
  }

  private struct State {
    var faults: [String: Fault] = [:]
    var accepted: [Message] = []
    var connections = 0
  }

  /// Delays the answers for a subscription while its gate is closed.
  package let gate = Gate()
  private let state = Mutex(State())
  private let listener = LoopbackListener()!  // a free port
  private let front: TLSFront
  /// The `applicationServerKey` of all subscriptions.
  private let applicationServerKey: String

  package init(applicationServerKey: String) throws {
    self.applicationServerKey = applicationServerKey
    front = try TLSFront(of: listener.port)
    listener.begin { [self] in serve(Wire($0)) }
    try front.start()
  }

  package func end() {
    gate.openAll()
    front.end()
    listener.end()
  }

  /// `127.0.0.1:PORT`
  package var host: String { "127.0.0.1:\(front.port)" }
  package var origin: String { "https://\(host)" }
  /// The file of the certificate that signs the service's certificate, in PEM.
  package var certificatesFile: String { front.certificate }

  package func endpoint(_ subscription: String) -> String { "\(origin)/push/\(subscription)" }

  package func play(_ fault: Fault, for subscription: String) {
    state.withLock { $0.faults[subscription] = fault }
  }

  package var accepted: [Message] { state.withLock { $0.accepted } }
  package var requests: Int { state.withLock { $0.connections } }

  private func serve(_ wire: Wire) {
    while let head = wire.head() {
      let lines = head.split(separator: "\r\n")
      let words = lines[0].split(separator: " ")
      let pairs = lines.dropFirst().map { $0.split(separator: ":", maxSplits: 1) }
      let fields = Dictionary(
        pairs.map {
          ($0[0].lowercased(), $0.count == 2 ? $0[1].trimmingCharacters(in: .whitespaces) : "")
        }
      ) { "\($0), \($1)" }
      let body = (0..<(Int(fields["content-length"] ?? "") ?? 0)).compactMap { _ in wire.byte() }
      let subscription = words[1].split(separator: "/").last.map(String.init) ?? ""
      let message = Message(subscription: subscription, fields: fields, body: body)
      gate.pass(subscription)
      let answer = answer(to: message, method: String(words[0]))
      if answer.status == 201 { state.withLock { $0.accepted.append(message) } }
      wire.write(
        "HTTP/1.1 \(answer.status) Status\r\n\(answer.fields)Content-Length: 0\r\n\r\n")
    }
  }

  private func answer(to message: Message, method: String) -> Fault {
    let fault = state.withLock { state in
      state.connections += 1
      return state.faults[message.subscription]
    }
    if let fault { return fault }
    guard method == "POST" else { return Fault(405) }
    guard message.body.count <= 4096 else { return Fault(413) }
    guard let lifetime = message.fields["ttl"].flatMap({ Int($0) }), lifetime >= 0,
      message.fields["content-encoding"] == "aes128gcm",
      let content = try? EncryptedContent(message.body), content.keyID.count == 65,
      (try? P256PublicKey(uncompressedPoint: content.keyID)) != nil,
      ["very-low", "low", "normal", "high"].contains(message.fields["urgency"] ?? "normal"),
      message.fields["topic"].map(Self.isTopic) ?? true
    else { return Fault(400) }
    if let refusal = refusal(of: message.fields["authorization"]) { return Fault(refusal) }
    return Fault(201, fields: "Location: \(origin)/message/1\r\n")
  }

  private static func isTopic(_ text: String) -> Bool {
    1...32 ~= text.utf8.count
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) }
  }

  /// - Returns: nil if the subscription accepts messages from this sender.
  private func refusal(of authorization: String?) -> Int? {
    guard let match = authorization?.firstMatch(of: /^vapid t=([^.]+)\.([^.]+)\.([^,]+), ?k=(.+)$/),
      let point = base64URLDecoded(String(match.4)),
      let key = try? P256PublicKey(uncompressedPoint: point),
      let signature = base64URLDecoded(String(match.3)),
      let header = base64URLDecoded(String(match.1)),
      let claims = base64URLDecoded(String(match.2)),
      key.isES256(signature, of: Array("\(match.1).\(match.2)".utf8)),
      let head = try? JSONSerialization.jsonObject(with: Data(header)) as? [String: Any],
      head["alg"] as? String == "ES256", head["typ"] as? String == "JWT",
      let token = try? JSONSerialization.jsonObject(with: Data(claims)) as? [String: Any]
    else { return 401 }
    let (now, expiry) = (Date.now.timeIntervalSince1970, token["exp"] as? Double ?? 0)
    guard token["aud"] as? String == origin, expiry > now, expiry <= now + 86_400,
      let subject = token["sub"] as? String,
      subject.hasPrefix("mailto:") || subject.hasPrefix("https://"),
      String(match.4) == applicationServerKey
    else { return 403 }
    return nil
  }
}

/// nginx, which serves TLS with its own certificate for 127.0.0.1 and forwards to a local server.
private final class TLSFront: Sendable {
  let port = freePort()
  private let folder = makeTemporaryFolder()
  private let nginx = Mutex<Process?>(nil)
  var certificate: String { "\(folder)/certificate.pem" }

  init(of server: UInt16) throws {
    let made = runProgram(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
        "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-days", "2",
        "-keyout", "\(folder)/key.pem", "-out", "\(folder)/certificate.pem",
      ])
    guard made.status == 0 else { throw ProgramError(description: made.output) }
    try """
    \(geteuid() == 0 ? "user root root;" : "")
    pid \(folder)/pid; daemon off; error_log \(folder)/error.log;
    events {}
    http {
      access_log off; client_body_temp_path \(folder)/body; proxy_temp_path \(folder)/proxy;
      fastcgi_temp_path \(folder)/f; uwsgi_temp_path \(folder)/u; scgi_temp_path \(folder)/s;
      server {
        listen 127.0.0.1:\(port) ssl;
        ssl_certificate \(folder)/certificate.pem; ssl_certificate_key \(folder)/key.pem;
        client_body_buffer_size 64k;
        location / { proxy_pass http://127.0.0.1:\(server); proxy_pass_header Date; }
      }
    }
    """.write(toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
  }

  func start() throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["nginx", "-c", "\(folder)/nginx.conf", "-e", "\(folder)/error.log"]
    process.environment = ["PATH": "/usr/sbin:/sbin:/usr/bin:/bin"]
    try process.run()
    nginx.withLock { $0 = process }
    try wait(for: "the start of nginx") {
      guard process.isRunning else { throw ProgramError(description: "nginx does not start") }
      return runProgram(
        "curl", ["--silent", "--insecure", "--noproxy", "*", "https://127.0.0.1:\(port)/"]
      ).status == 0
    }
  }

  func end() {
    nginx.withLock { process in
      process?.terminate()
      process?.waitUntilExit()
      process = nil
    }
    try? FileManager.default.removeItem(atPath: folder)
  }
}

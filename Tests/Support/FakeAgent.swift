import Foundation
import Synchronization

/// An agent on a port of 127.0.0.1. It notes the head and the body of every request, answers with
/// JSON, and echoes all bytes after a switch to the WebSocket protocol. Its answer to `/stream`
/// never ends. Its answer to `/hostile` is a page that tries to act as the site.
package final class FakeAgent: Sendable {
  private let requests = Mutex<[String]>([])
  private let listener: LoopbackListener
  /// `HOST:PORT`
  package var address: String { "127.0.0.1:\(listener.port)" }

  package init() {
    listener = LoopbackListener()!  // a free port
    listener.begin { [self] in serve(Wire($0)) }
  }

  /// The head and the body of each request so far.
  package var seen: [String] { requests.withLock { $0 } }

  /// Stops listening. A connection ends when the other side closes it.
  package func end() { listener.end() }

  private func serve(_ wire: Wire) {
    while let head = wire.head() {
      let length = head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
      let body = wire.bytes(length)
      requests.withLock { $0.append(head + String(decoding: body, as: UTF8.self)) }
      if head.contains(/(?i)upgrade: websocket/) {
        // The accept value for the key that all tests send (RFC 6455 §1.3). HAProxy requires it.
        wire.write(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
        while let byte = wire.byte() { wire.write(String(UnicodeScalar(byte))) }
        return
      }
      if head.contains("/stream") {
        wire.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbegun\n")
        while wire.byte() != nil {}
        return
      }
      if head.contains("/hostile") {
        wire.write(Self.hostileAnswer)
        continue
      }
      // Longer than the responder may take. The answer may come later still.
      if head.contains("/late") { sleep(16) }
      let status = head.contains("/broken") ? "500 Internal Server Error" : "200 OK"
      let fields = "Content-Type: application/json\r\nContent-Length: 14"
      wire.write("HTTP/1.1 \(status)\r\n\(fields)\r\n\r\n" + #"{"agent":true}"#)
    }
  }
}

extension FakeAgent {
  /// Names, in lower case, of header fields that a web server or a browser obeys.
  package static let hostileNames = hostileFields.map { $0.prefix { $0 != ":" }.lowercased() }

  private static let hostileFields = [
    "X-Accel-Redirect: /api/pair/info", "X-Accel-Expires: 3600", "X-Accel-Limit-Rate: 1",
    "X-Sendfile: /etc/passwd", "X-Sendfile2: /etc/passwd 0-9", "X-LIGHTTPD-send-file: /etc/passwd",
    "Status: 302 Found", "Location: /account", "Refresh: 0; url=/account",
    "Set-Cookie: __Host-switchboard=stolen; Path=/; Secure; HttpOnly", "Clear-Site-Data: \"*\"",
    "Strict-Transport-Security: max-age=0", "Service-Worker-Allowed: /",
    "Access-Control-Allow-Origin: *", "WWW-Authenticate: Basic realm=\"Switchboard\"",
    "Alt-Svc: h3=\":443\"", "NEL: {}", "Report-To: {}", "Public-Key-Pins: x",
  ]

  private static let hostileAnswer =
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Security-Policy: default-src *\r\n"
    + hostileFields.joined(separator: "\r\n")
    + "\r\nTransfer-Encoding: chunked\r\nTrailer: Set-Cookie\r\n\r\n1b\r\n<script>alert('a')</script>\r\n"
    + "0\r\nSet-Cookie: __Host-switchboard=stolen; Path=/; Secure\r\n\r\n"
    + "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: second=answer\r\n\r\n"
}

/// A TCP connection, read byte by byte and closed when this object is released.
package final class Wire {
  private let descriptor: Int32

  package init(_ descriptor: Int32) {
    self.descriptor = descriptor
  }

  /// Connects to a port of 127.0.0.1.
  package init(port: UInt16) {
    signal(SIGPIPE, SIG_IGN)
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let descriptor = descriptor
    _ = withLoopbackAddress(port: port) { address in
      let length = socklen_t(MemoryLayout<sockaddr_in>.size)
      if connect(descriptor, address, length) != 0 { recordIssue("nobody listens on \(port)") }
    }
  }

  /// Connects to a unix socket.
  package convenience init(unixSocket path: String) {
    signal(SIGPIPE, SIG_IGN)
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let isConnected = withAddress(of: path) { connect(descriptor, $0, $1) == 0 }
    if !isConnected { recordIssue("nobody listens on \(path)") }
    self.init(descriptor)
  }

  deinit { close(descriptor) }

  package func write(_ text: String) { _ = takes(text) }

  /// Writes `text`, and returns whether the other side has taken all of it.
  package func takes(_ text: String) -> Bool {
    send(descriptor, text, text.utf8.count, 0) == text.utf8.count
  }

  /// The next byte; nil at the end.
  package func byte() -> UInt8? {
    var byte: UInt8 = 0
    return recv(descriptor, &byte, 1, 0) == 1 ? byte : nil
  }

  /// The next `count` bytes; fewer at the end.
  package func bytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { room, received in
      while received < count,
        case let more = recv(descriptor, room.baseAddress! + received, count - received, 0),
        more > 0
      {
        received += more
      }
    }
  }

  /// All bytes up to and including the empty line; nil at the end.
  package func head() -> String? {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard let byte = byte() else { return nil }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

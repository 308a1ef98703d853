import Foundation
import Synchronization

/// A fake of online-go.com on a port of 127.0.0.1. It answers for each player as the test tells it,
/// counts requests, and can fail like the real server or an attacker in its position. It has only
/// endpoints that the real server has.
package final class FakeOGS: Sendable {
  package enum Answer: Sendable {
    case body(String)
    /// Gzip format, without compression.
    case packed(String)
    /// Sends `ETag`, and 304 to a client that sends the tag back.
    case tagged(String, tag: String)
    case status(Int, body: String = "", fields: [String] = [])
    /// A complete header, then an object with this many bytes of white space.
    case large(bytes: Int)
    /// Half of the bytes of Content-Length, then the end.
    case truncated(String)
    /// No answer until the client closes the connection.
    case silence
    /// A header, and then one byte every 50 ms without an end.
    case drip

    package static let notFound = status(404, body: #"{"detail":"Not found."}"#)
    static let throttled = status(429, body: #"{"detail":"Request was throttled."}"#)
  }

  private struct State {
    var answers: [Int64: Answer] = [:]
    var fallback: @Sendable (Int64) -> Answer
    /// The times of the latest answers, at most as many as are allowed per second.
    var answered: [ContinuousClock.Instant] = []
    var counts: [Int64: Int] = [:]
    var agents: Set<String> = []
    var running: [Int64: Int] = [:]
    var overlapped = false
    var connections = 0
  }

  private let state: Mutex<State>
  private let listener: LoopbackListener
  private let requestsPerSecond: Int
  private let now: @Sendable () -> ContinuousClock.Instant
  /// Holds the answers for a user while the gate with the user's id is closed.
  package let gate = Gate()

  /// - Parameters:
  ///   - wanted: 0 takes a free port.
  ///   - requestsPerSecond: the limit; requests above it are throttled.
  ///   - now: the clock of this limit.
  ///   - fallback: the answer for every other player.
  /// - Returns: nil if the port cannot be used.
  package init?(
    port wanted: UInt16 = 0, requestsPerSecond: Int = .max,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    answer fallback: @escaping @Sendable (Int64) -> Answer = { _ in .notFound }
  ) {
    state = Mutex(State(fallback: fallback))
    self.requestsPerSecond = requestsPerSecond
    self.now = now
    guard let listener = LoopbackListener(port: wanted) else { return nil }
    self.listener = listener
    listener.begin { [self] connection in
      state.withLock { $0.connections += 1 }
      serve(connection)
    }
  }

  /// Stops listening. A connection ends when the client closes it.
  package func end() {
    gate.openAll()
    listener.end()
  }

  package var port: UInt16 { listener.port }
  package var url: String { "http://127.0.0.1:\(port)" }

  package func answer(_ user: Int64, _ answer: Answer) {
    state.withLock { $0.answers[user] = answer }
  }

  package func answerOthers(_ answer: Answer) {
    state.withLock { $0.fallback = { _ in answer } }
  }

  /// The number of requests for the games of `user`.
  package func count(_ user: Int64) -> Int { state.withLock { $0.counts[user] ?? 0 } }
  package var total: Int { state.withLock { $0.counts.values.reduce(0, +) } }
  package var agents: Set<String> { state.withLock { $0.agents } }
  package var connections: Int { state.withLock { $0.connections } }
  /// Whether a request for the games of `user` is waiting now.
  package func isBeingAsked(_ user: Int64) -> Bool { state.withLock { $0.running[user] ?? 0 > 0 } }
  /// Whether two requests for one user ever ran at the same time.
  package var hasOverlapped: Bool { state.withLock { $0.overlapped } }

  private func serve(_ connection: Int32) {
    defer { close(connection) }
    var received: [UInt8] = []
    while let head = readHead(connection, &received) {
      let lines = head.components(separatedBy: "\r\n")
      func field(_ name: String) -> String? {
        lines.first { $0.lowercased().hasPrefix(name + ": ") }.map {
          String($0.dropFirst(name.count + 2))
        }
      }
      let user = lines[0].firstMatch(of: #/GET /api/v1/players/([1-9][0-9]*)/full HTTP/1\.[01]/#)
        .flatMap { Int64($0.1) }
      guard let user else {
        _ = give(refusal(of: lines[0]), on: connection, accepting: "", tag: nil)
        return
      }
      let answer = state.withLock { state in
        state.counts[user, default: 0] += 1
        state.agents.insert(field("user-agent") ?? "")
        state.running[user, default: 0] += 1
        if state.running[user]! > 1 { state.overlapped = true }
        return isThrottled(&state) ? .throttled : state.answers[user] ?? state.fallback(user)
      }
      gate.pass("\(user)")
      let isKept = give(
        answer, on: connection, accepting: field("accept-encoding") ?? "",
        tag: field("if-none-match"))
      state.withLock { $0.running[user]! -= 1 }
      guard isKept else { return }
    }
  }

  private func isThrottled(_ state: inout State) -> Bool {
    let now = now()
    state.answered.removeAll { $0 <= now - .seconds(1) }
    if state.answered.count >= requestsPerSecond { return true }
    if requestsPerSecond < .max { state.answered.append(now) }
    return false
  }

  /// The answer to a request for anything except a player's games.
  private func refusal(of requestLine: String) -> Answer {
    let words = requestLine.split(separator: " ")
    guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return .status(400) }
    switch words[1] {
    case let path where !path.hasPrefix("/api/v1/"): return .status(404, body: "<html></html>")
    case "/api/v1/ui/overview":
      return .status(401, body: #"{"detail":"Authentication credentials were not provided."}"#)
    case _ where words[0] != "GET":
      return .status(405, body: #"{"detail":"Method \"\#(words[0])\" not allowed."}"#)
    default: return .notFound
    }
  }

  private func readHead(_ connection: Int32, _ received: inout [UInt8]) -> String? {
    let end = Array("\r\n\r\n".utf8)
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      if let range = received.firstRange(of: end) {
        let head = String(decoding: received[..<range.lowerBound], as: UTF8.self)
        received.removeSubrange(..<range.upperBound)
        return head
      }
      let count = read(connection, &buffer, buffer.count)
      guard count > 0 else { return nil }
      received += buffer[..<count]
    }
  }

  /// - Returns: whether the connection may be used again.
  private func give(
    _ answer: Answer, on connection: Int32, accepting codings: String, tag: String?
  ) -> Bool {
    let json = "Content-Type: application/json"
    switch answer {
    case .body(let text): send(connection, status: 200, fields: [json], body: Array(text.utf8))
    case .packed(let text):
      guard codings.contains("gzip") else {
        return give(.status(406), on: connection, accepting: codings, tag: tag)
      }
      send(
        connection, status: 200, fields: [json, "Content-Encoding: gzip"],
        body: gzipped(Array(text.utf8)))
    case .tagged(_, let own) where own == tag:
      send(connection, status: 304, fields: ["ETag: \(own)"], body: nil)
    case .tagged(let text, let own):
      send(connection, status: 200, fields: [json, "ETag: \(own)"], body: Array(text.utf8))
    case .status(let status, let body, let fields):
      send(connection, status: status, fields: fields, body: Array(body.utf8))
    case .large(let bytes):
      send(
        connection, status: 200, fields: [json],
        body: [UInt8(ascii: "{")] + [UInt8](repeating: 32, count: bytes))
      return false
    case .truncated(let text):
      let body = Array(text.utf8)
      send(
        connection, status: 200, fields: [json], body: Array(body.prefix(body.count / 2)),
        length: body.count)
      return false
    case .silence:
      var byte: UInt8 = 0
      _ = read(connection, &byte, 1)
      return false
    case .drip:
      send(connection, status: 200, fields: [json], body: [], length: 1 << 30)
      while write(connection, [32], 1) == 1 { usleep(50_000) }
      return false
    }
    return true
  }

  private func send(
    _ connection: Int32, status: Int, fields: [String], body: [UInt8]?, length: Int? = nil
  ) {
    var head = ["HTTP/1.1 \(status) -"] + fields
    if let body { head.append("Content-Length: \(length ?? body.count)") }
    var rest = Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8)[...] + (body ?? [])
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(connection, $0.baseAddress!, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}

/// `bytes` in stored blocks (RFC 1951 §3.2.4) as gzip (RFC 1952).
private func gzipped(_ bytes: [UInt8]) -> [UInt8] {
  var packed: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]
  func little(_ value: UInt32, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
  }
  var start = 0
  repeat {
    let block = bytes[start..<min(start + 65_535, bytes.count)]
    start = block.endIndex
    let size = UInt32(block.count)
    packed += [start == bytes.count ? 1 : 0] + little(size, 2) + little(~size, 2) + block
  } while start < bytes.count
  var crc = UInt32.max
  for byte in bytes {
    crc ^= UInt32(byte)
    for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 1 ? 0xedb8_8320 : 0) }
  }
  return packed + little(~crc, 4) + little(UInt32(truncatingIfNeeded: bytes.count), 4)
}

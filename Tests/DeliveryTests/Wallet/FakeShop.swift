import Cryptography
import Foundation
import Support
import Synchronization

/// The server of a merchant, on a port of 127.0.0.1. It takes webhooks as Standard Webhooks says: it computes
/// the signatures itself, by another implementation of HMAC.
final class FakeShop: Sendable {
  struct Message: Sendable {
    let fields: [String: String]
    let body: String

    var id: String { fields["webhook-id"] ?? "" }
    /// The words of `webhook-signature`.
    var signatures: [String] {
      (fields["webhook-signature"] ?? "").split(separator: " ").map(String.init)
    }

    /// `v1,` and the signature that a secret `whsec_…` makes.
    func signature(by secret: String) -> String {
      let key = Data(base64Encoded: String(secret.dropFirst(6)))!
      let hexKey = key.map { String(format: "%02x", $0) }.joined()
      let content = "\(id).\(fields["webhook-timestamp"] ?? "").\(body)"
      let outcome = runProgram(
        "sh",
        [
          "-c",
          #"printf %s "$1" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$2" -binary | base64"#,
          "sh", content, hexKey,
        ])
      return "v1," + outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    var json: [String: Any] {
      (try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]) ?? [:]
    }
  }

  /// Holds the answers while the gate `shop` is closed.
  let gate = Gate()
  private let listener = LoopbackListener()!  // a free port
  /// The next answers; then 204.
  private let answers = Mutex<[String]>([])
  private let messages = Mutex<[Message]>([])

  init() {
    listener.begin { [self] in serve(Wire($0)) }
  }

  func end() {
    gate.openAll()
    listener.end()
  }

  var url: String { "http://127.0.0.1:\(listener.port)/hook" }
  var received: [Message] { messages.withLock { $0 } }

  /// Adds an answer.
  func play(_ answer: String) { answers.withLock { $0.append(answer) } }

  static func answer(_ status: Int, _ fields: String = "", body: String = "") -> String {
    "HTTP/1.1 \(status) -\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private func serve(_ wire: Wire) {
    while let head = wire.head() {
      let pairs = head.split(separator: "\r\n").dropFirst().map {
        $0.split(separator: ": ", maxSplits: 1)
      }
      let fields = Dictionary(
        pairs.map { ($0[0].lowercased(), $0.count == 2 ? String($0[1]) : "") }
      ) { "\($0), \($1)" }
      let body = wire.bytes(Int(fields["content-length"] ?? "") ?? 0)
      messages.withLock {
        $0.append(Message(fields: fields, body: String(decoding: body, as: UTF8.self)))
      }
      gate.pass("shop")
      wire.write(answers.withLock { $0.isEmpty ? Self.answer(204) : $0.removeFirst() })
    }
  }
}

extension Gate {
  /// Calls `body` while requests of the shop wait.
  func hold<T>(_ body: () throws -> T) rethrows -> T {
    close("shop")
    defer { open("shop") }
    return try body()
  }
}

import Base
import StoreCore

/// Head of a request as the agent gets it, without the fields that only the site may see.
///
/// The web server has already parsed the request. A head that it would not send is refused.
struct RelayHead {
  /// Reason why the agent does not get the request.
  enum Refusal: Error {
    case malformed
    /// The path, as written, does not belong to the agent.
    case foreignPath
    /// The web server does not name the client.
    case notAdmitted
  }

  /// Maximum size in bytes, including the empty line.
  static let limit = 48 * 1024
  /// Target with which the responder asks whether the agent accepts connections.
  static let probe = "/_agent"

  let client: AgentClient
  let isUpgrade: Bool
  let isHEAD: Bool
  /// Whether nothing follows the head: neither content nor a web socket.
  let isBare: Bool
  /// Whether the request may use a kept connection to the agent, because it can be sent again if that
  /// connection has ended (RFC 9112 §9.3.1). A kept connection serves one client, and `anyone` may be
  /// several.
  let isRepeatable: Bool
  /// Whether the web server's connection ends with this request.
  var isLast: Bool
  /// Whether the web server waits for an interim answer before it sends the content (RFC 9110
  /// §10.1.1). The relay sends it, because agents may not support this.
  let expectsContinue: Bool
  /// Complete head for the agent.
  private(set) var bytes: [UInt8] = []

  /// Whether `received` is the responder's probe.
  static func isProbe(_ received: [UInt8]) -> Bool {
    received.starts(with: "GET \(probe) HTTP/1.1\r\n".utf8)
  }

  /// - Parameter received: a head with its empty line.
  init(_ received: [UInt8]) throws(Refusal) {
    var lines = RelayField.lines(of: received)[...]
    guard let requestLine = lines.popFirst()?.split(separator: UInt8(ascii: " ")),
      requestLine.count == 3, requestLine[0].allSatisfy(\.isUppercaseLetter),
      requestLine[2].elementsEqual("HTTP/1.1".utf8)
    else { throw .malformed }
    let fields = try lines.map { line throws(Refusal) in
      guard let field = RelayField(line) else { throw .malformed }
      return field
    }
    func values(_ name: String) -> [ArraySlice<UInt8>] {
      fields.filter { $0.name == name }.map(\.value)
    }
    let admitted = values(Self.admission)
    guard admitted.count == 1,
      let client = AgentClient(String(decoding: admitted[0], as: UTF8.self))
    else { throw .notAdmitted }
    self.client = client
    let target = RelayTarget(requestLine[1])
    guard target.isOfAgent else { throw .foreignPath }
    guard values("content-length").count + values("transfer-encoding").count <= 1 else {
      throw .malformed
    }
    isUpgrade =
      target.path.elementsEqual("/ws".utf8) && requestLine[0].elementsEqual("GET".utf8)
      && values("upgrade").map { String(decoding: $0, as: UTF8.self).lowercased() } == ["websocket"]
    isHEAD = requestLine[0].elementsEqual("HEAD".utf8)
    expectsContinue = !values("expect").isEmpty
    isBare =
      !isUpgrade && !expectsContinue && values("content-length").isEmpty
      && values("transfer-encoding").isEmpty
    isRepeatable =
      isBare && client != .anyone
      && (isHEAD || requestLine[0].elementsEqual("GET".utf8))
    isLast = !isBare || fields.contains(where: \.asksToClose)
    bytes = requestLine[0] + " ".utf8 + target.withoutTokens + " HTTP/1.1\r\n".utf8
    for field in fields where !Self.isWithheld(field) { bytes += field.line + "\r\n".utf8 }
    if let device = client.pairedDevice { bytes += "X-Paired-Device: \(device)\r\n".utf8 }
    if isUpgrade {
      bytes += "Connection: Upgrade\r\nUpgrade: websocket\r\n".utf8
    } else if !isRepeatable {
      // No request follows content, so that none of its bytes can be parsed as another request.
      bytes += "Connection: close\r\n".utf8
    }
    bytes += "\r\n".utf8
  }

  private static func isWithheld(_ field: RelayField) -> Bool {
    withheld.contains(field.name) || field.value.showsToken
  }

  private static let admission = AgentClient.fieldName.lowercased()

  private static let withheld: Set<String> = [
    admission, "x-paired-device",
    // Fields that only the site may see.
    "authorization", "proxy-authorization", "cookie", "x-device-credential", "x-api-key",
    "referer",
    // Fields that the relay sets.
    "connection", "upgrade", "keep-alive", "proxy-connection", "te", "trailer",
    "expect",
    // Fields that a client may have forged. The agent gets only X-Forwarded-For of the web server.
    "forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port",
    "x-forwarded-server",
  ]
}

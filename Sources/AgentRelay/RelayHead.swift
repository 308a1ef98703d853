import Base
import Store

/// The head of a request to the agent, as the agent gets it: without what only the site may see.
///
/// The web server has parsed the request already. What it would not have sent is refused.
struct RelayHead {
  /// Why the agent does not get the request.
  enum Refusal: Error {
    case malformed
    /// The path is none of the agent's, as it is written.
    case foreignPath
    /// The web server does not say who sends it.
    case notAdmitted
  }

  /// With the empty line.
  static let limit = 48 * 1024
  /// The responder asks with this target whether the agent answers.
  static let probe = "/_agent"

  let client: AgentClient
  let isUpgrade: Bool
  let isHEAD: Bool
  /// Whether the web server waits for an interim answer before it sends the content (RFC 9110 §10.1.1): the relay gives
  /// it, because agents need not know of this.
  let expectsContinue: Bool
  /// The whole head for the agent.
  private(set) var bytes: [UInt8] = []

  /// Whether `received` is the responder's question.
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
    let admitted = values(AgentClient.fieldName.lowercased())
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
    bytes = requestLine[0] + " ".utf8 + target.withoutTokens + " HTTP/1.1\r\n".utf8
    for field in fields where !Self.isWithheld(field) { bytes += field.line + "\r\n".utf8 }
    if let device = client.pairedDevice { bytes += "X-Paired-Device: \(device)\r\n".utf8 }
    // One request on each connection: nothing that follows can be taken for another one.
    let connection = isUpgrade ? "Connection: Upgrade\r\nUpgrade: websocket" : "Connection: close"
    bytes += "\(connection)\r\n\r\n".utf8
  }

  private static func isWithheld(_ field: RelayField) -> Bool {
    withheld.contains(field.name) || field.value.showsToken
  }

  private static let withheld: Set<String> = [
    AgentClient.fieldName.lowercased(), "x-paired-device",
    // What the site alone may see.
    "authorization", "proxy-authorization", "cookie", "x-device-credential", "x-api-key",
    "referer",
    // Set here.
    "connection", "upgrade", "keep-alive", "proxy-connection", "te", "trailer",
    "expect",
    // Of the web server the agent gets X-Forwarded-For. A client may have written these.
    "forwarded", "via", "x-real-ip", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-port",
    "x-forwarded-server",
  ]
}

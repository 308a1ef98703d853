import Base

/// Head of the agent's answer, as the web server gets it.
///
/// The agent answers at the site's address, but is not the site. So only fields that describe the
/// content pass. Fields that a web server obeys (`X-Accel-Redirect`, `X-Sendfile`, `Status`) and
/// fields that affect the whole site in a browser are dropped (`Set-Cookie`,
/// `Strict-Transport-Security`, `Clear-Site-Data`, `Access-Control-Allow-Origin`,
/// `WWW-Authenticate`, `Refresh`, …).
struct AgentAnswerHead {
  struct Malformed: Error {}

  /// Content after the head (RFC 9112 §6.3).
  enum Content: Equatable {
    case none
    case length(Int)
    case chunks
    case untilEnd
    /// The web socket's protocol.
    case tunnel
    /// The head of the final answer (RFC 9110 §15.2).
    case anotherHead

    /// Whether the content tells its own end.
    var isFramed: Bool {
      switch self {
      case .length, .chunks: true
      default: false
      }
    }
  }

  let content: Content
  /// Whether the agent's connection can take another request after the content. False for an
  /// answer without content, because some agents send content after it all the same.
  let isReusable: Bool
  /// Complete head for the web server; empty if another head follows.
  private(set) var bytes: [UInt8] = []

  private let status: Int
  private let fields: [RelayField]

  /// - Parameters:
  ///   - received: a head with its empty line.
  ///   - request: the request that it answers.
  init(_ received: [UInt8], to request: RelayHead) throws(Malformed) {
    var lines = RelayField.lines(of: received)[...]
    let words = lines.popFirst()?.split(
      separator: UInt8(ascii: " "), maxSplits: 2, omittingEmptySubsequences: false)
    guard let words, words.count >= 2, words[1].count == 3,
      let status = Int(String(decoding: words[1], as: UTF8.self)), (100...599).contains(status)
    else { throw Malformed() }
    let version = String(decoding: words[0], as: UTF8.self)
    guard ["HTTP/1.1", "HTTP/1.0"].contains(version) else { throw Malformed() }
    self.status = status
    fields = try lines.map { line throws(Malformed) in
      guard let field = RelayField(line) else { throw Malformed() }
      return field
    }
    let isOld = version == "HTTP/1.0"
    content = try Self.content(after: status, fields, to: request, isOld: isOld)
    isReusable = !isOld && content.isFramed && !fields.contains(where: \.asksToClose)
    let reason = words.count == 3 && words[2].allSatisfy(\.isPrintable) ? words[2] : []
    if content != .anotherHead {
      bytes = Array("HTTP/1.1 \(status) ".utf8) + reason + "\r\n".utf8
      writeFields(isLast: request.isLast || content == .untilEnd)
      bytes += "\r\n".utf8
    }
  }

  private static func content(
    after status: Int, _ fields: [RelayField], to request: RelayHead, isOld: Bool
  ) throws(Malformed) -> Content {
    func values(_ name: String) -> [String] {
      fields.filter { $0.name == name }
        .map { String(decoding: $0.value, as: UTF8.self).lowercased() }
    }
    if status == 101 {
      guard request.isUpgrade, values("upgrade") == ["websocket"] else { throw Malformed() }
      return .tunnel
    }
    if status < 200 { return .anotherHead }
    let (lengths, codings) = (values("content-length"), values("transfer-encoding"))
    guard lengths.count + codings.count <= 1, codings.isEmpty || codings == ["chunked"] && !isOld
    else { throw Malformed() }
    let length = lengths.first.map { text in
      text.utf8.allSatisfy(\.isDigit) ? Int(text) : nil
    }
    if let length, length == nil { throw Malformed() }
    if request.isHEAD || status == 204 || status == 304 { return .none }
    if !codings.isEmpty { return .chunks }
    if let length = length ?? nil { return .length(length) }
    return .untilEnd
  }

  private mutating func writeFields(isLast: Bool) {
    let passing = content == .tunnel ? Self.ofWebSockets : Self.ofContent
    for field in fields where passing.contains(field.name) { bytes += field.line + "\r\n".utf8 }
    if content == .tunnel {
      bytes += "Connection: Upgrade\r\nUpgrade: websocket\r\n".utf8
      return
    }
    switch content {
    case .length(let length): bytes += "Content-Length: \(length)\r\n".utf8
    case .chunks: bytes += "Transfer-Encoding: chunked\r\n".utf8
    default: break
    }
    if !fields.contains(where: { $0.name == "cache-control" }) {
      bytes += "Cache-Control: no-store\r\n".utf8
    }
    // A sandbox gives the agent's pages no origin and no scripts, because they are not the site's.
    bytes += "Content-Security-Policy: sandbox\r\n".utf8
    if isLast { bytes += "Connection: close\r\n".utf8 }
  }

  /// Allowed fields, without `Location`: a redirect would lead an app or a person from the site to
  /// any address that the agent chooses.
  private static let ofContent: Set<String> = [
    "content-type", "content-encoding", "content-language", "content-disposition",
    "content-range", "accept-ranges", "cache-control", "expires", "etag", "last-modified", "date",
    "age", "vary", "allow", "retry-after",
  ]

  private static let ofWebSockets: Set<String> = [
    "sec-websocket-accept", "sec-websocket-protocol", "sec-websocket-extensions",
  ]
}

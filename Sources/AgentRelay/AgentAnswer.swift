import Base

/// Agent's answer to one request on its way to the web server. Finds the end of the answer and
/// drops later bytes. Drops trailers too, because some web servers add them to the fields.
struct AgentAnswer {
  private enum State {
    case head
    case content(left: Int)
    case chunks(ChunkedContent)
    case untilEnd
    case complete
  }

  private static let headLimit = 48 * 1024

  private let request: RelayHead
  private var state = State.head
  private var received: [UInt8] = []
  /// Whether the agent has sent anything.
  private(set) var hasBegun = false
  /// Whether the agent's connection can take another request after the complete answer.
  private(set) var isReusable = false

  init(to request: RelayHead) {
    self.request = request
  }

  var hasHead: Bool { if case .head = state { false } else { true } }
  var isComplete: Bool { if case .complete = state { true } else { false } }

  /// The part of the agent's next `bytes` that the web server gets.
  ///
  /// - Throws: ``AgentAnswerHead/Malformed``.
  mutating func take(_ bytes: [UInt8]) throws(AgentAnswerHead.Malformed) -> [UInt8] {
    hasBegun = true
    guard case .head = state else { return try takeContent(bytes[...]) }
    // The end of the head may have begun in earlier bytes, which need no second search.
    var searched = max(0, received.count - 3)
    received += bytes
    var passed: [UInt8] = []
    while let end = RelayField.endOfHead(in: received, from: searched) {
      let head = try AgentAnswerHead(Array(received[..<end]), to: request)
      received.removeSubrange(..<end)
      searched = 0
      passed += head.bytes
      guard head.content == .anotherHead else {
        isReusable = head.isReusable
        begin(head.content)
        defer { received = [] }
        return try passed + takeContent(received[...])
      }
    }
    guard received.count <= Self.headLimit else { throw AgentAnswerHead.Malformed() }
    return passed
  }

  private mutating func begin(_ content: AgentAnswerHead.Content) {
    state =
      switch content {
      case .none, .length(0): .complete
      case .length(let length): .content(left: length)
      case .chunks: .chunks(ChunkedContent())
      case .untilEnd, .tunnel: .untilEnd
      case .anotherHead: .head
      }
  }

  private mutating func takeContent(
    _ bytes: ArraySlice<UInt8>
  ) throws(AgentAnswerHead.Malformed) -> [UInt8] {
    switch state {
    case .head: return []
    case .complete:
      if !bytes.isEmpty { isReusable = false }
      return []
    case .untilEnd: return Array(bytes)
    case .content(let left):
      state = bytes.count >= left ? .complete : .content(left: left - bytes.count)
      if bytes.count > left { isReusable = false }
      return Array(bytes.prefix(left))
    case .chunks(var chunks):
      var rest = bytes
      let passed = try chunks.take(&rest)
      state = chunks.isComplete ? .complete : .chunks(chunks)
      // Trailers, or an end that has not arrived completely, would look like the next answer.
      if chunks.isComplete, !rest.elementsEqual("\r\n".utf8) { isReusable = false }
      return passed
    }
  }
}

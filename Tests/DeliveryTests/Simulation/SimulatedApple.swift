import CNGHTTP2
import Support

/// The server of one HTTP/2 connection, without a socket: reads the client's frames and answers at random. It
/// knows which requests it has processed.
struct SimulatedApple {
  enum Decision: Equatable {
    case accepted
    case rejected(Int)
  }

  /// Frames for the client.
  private(set) var output: [UInt8]
  /// The decisions about requests, by stream. A request without an entry was not processed.
  private(set) var decisions: [UInt32: Decision] = [:]
  /// The place in ``output`` where the answer of a stream ends, counted from the first octet of the connection.
  private(set) var ends: [UInt32: Int] = [:]
  /// The rule of HTTP/2 or of Apple that the client has broken; nil if it has broken none.
  private(set) var complaint: String?

  private var input: [UInt8] = []
  private var hasPreface = false
  /// Streams whose request has begun and that are not closed.
  private var begun: Set<UInt32> = []
  /// Whole requests without an answer.
  private var waiting: [UInt32] = []
  private var newest: UInt32 = 0
  /// The limits that the client may still follow, the last one sent at the end.
  private var limits: [Int]
  /// Set by GOAWAY: streams above it are not processed.
  private var lastStream: UInt32?
  private var written = 0

  init(maximumStreams: Int) {
    limits = [.max, maximumStreams]  // the client does not know it yet
    output = Frame.settings(maximumStreams: UInt32(maximumStreams))
    written = output.count
  }

  mutating func takeOutput() -> [UInt8] {
    defer { output = [] }
    return output
  }

  private mutating func send(_ bytes: [UInt8]) {
    output += bytes
    written += bytes.count
  }

  /// Reads octets of the client.
  mutating func receive(_ bytes: [UInt8]) {
    input += bytes
    if !hasPreface {
      guard input.count >= 24 else { return }
      input.removeFirst(24)
      hasPreface = true
    }
    while input.count >= 9 {
      let head = input.prefix(9).map(Int.init)
      let end = 9 + (head[0] << 16 | head[1] << 8 | head[2])
      guard input.count >= end else { return }
      let stream = UInt32(head[5] << 24 | head[6] << 16 | head[7] << 8 | head[8])
      read(type: head[3], flags: head[4], stream)
      input.removeFirst(end)
    }
  }

  private mutating func read(type: Int, flags: Int, _ stream: UInt32) {
    switch nghttp2_frame_type(UInt32(type)) {
    case NGHTTP2_HEADERS:
      if stream <= newest { complaint = "stream \(stream) begins after \(newest)" }
      newest = stream
      begun.insert(stream)
      if begun.count > limits.max()! { complaint = "\(begun.count) streams of \(limits)" }
    case NGHTTP2_DATA where flags & 1 == 1 && begun.contains(stream): waiting.append(stream)
    case NGHTTP2_RST_STREAM: close(stream)
    case NGHTTP2_SETTINGS where flags & 1 == 1: if limits.count > 1 { limits.removeFirst() }
    case NGHTTP2_SETTINGS: send(Frame.make(NGHTTP2_SETTINGS, flags: 1, 0, []))
    case NGHTTP2_PING where flags & 1 == 0:
      send(Frame.make(NGHTTP2_PING, flags: 1, 0, Array(repeating: 0, count: 8)))
    default: break
    }
  }

  private mutating func close(_ stream: UInt32) {
    begun.remove(stream)
    waiting.removeAll { $0 == stream }
  }

  /// Does something that a server may do.
  mutating func act(_ chance: inout SeededGenerator) {
    switch Int.random(in: 0..<40, using: &chance) {
    case 0:
      limits.append(.random(in: 0...12, using: &chance))
      send(Frame.settings(maximumStreams: UInt32(limits.last!)))
    case 1 where lastStream == nil:
      lastStream = ([0] + begun).randomElement(using: &chance)!
      send(Frame.goaway(lastStream: lastStream!, #"{"reason":"Shutdown"}"#))
    default:
      let allowed = waiting.filter { $0 <= lastStream ?? .max }
      if let stream = allowed.randomElement(using: &chance) { answer(stream, &chance) }
    }
  }

  private mutating func answer(_ stream: UInt32, _ chance: inout SeededGenerator) {
    close(stream)
    switch Int.random(in: 0..<16, using: &chance) {
    case 0: send(Frame.reset(stream, NGHTTP2_REFUSED_STREAM.rawValue))
    case 1, 2:  // processed, but the answer is lost
      decisions[stream] = .accepted
      send(Frame.reset(stream, NGHTTP2_INTERNAL_ERROR.rawValue))
    case 3: break  // read, and never answered
    case 4:
      decisions[stream] = .rejected(400)
      send(Frame.answer(stream, status: 400, body: #"{"reason":"BadTopic"}"#))
      ends[stream] = written
    default:
      decisions[stream] = .accepted
      send(Frame.answer(stream, status: 200))
      ends[stream] = written
    }
  }
}

import CNGHTTP2
import Delivery
import Testing

/// An engine, its output, and a clock that stands still.
struct EngineLine {
  let engine: APNsEngine
  let start = ContinuousClock.now
  var now: ContinuousClock.Instant
  private(set) var submitted = 0
  private(set) var outcomes: [APNsOutcome] = []
  private(set) var ids: [String] = []
  private var output: [UInt8] = []
  private let payload: String?

  init(window: Int = 500, payload: String? = nil) {
    self.payload = payload
    var limits = APNsEngine.Limits()
    limits.window = window
    now = start
    engine = APNsEngine(
      authority: "localhost", providerToken: "token", limits: limits, now: start)
  }

  /// Sends SETTINGS, and one request with its answer, and then forgets both.
  mutating func warmUp(oneByOne: Bool = false) {
    let first = Frame.settings(maximumStreams: 1000)
    if oneByOne { for byte in first { feed([byte]) } } else { feed(first) }
    submitAll(upTo: 1)
    feed(Frame.answer(1, status: 200))
    #expect(outcomes == [.accepted(apnsID: notification(0).id)])
    outcomes = []
    ids = []
  }

  mutating func submitAll(upTo count: Int, drains: Bool = true) {
    while submitted < count, engine.capacity > 0 {
      engine.submit(notification(submitted, payload: payload), at: now)
      submitted += 1
    }
    if drains { settle() }
  }

  mutating func feed(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { engine.feed($0, at: now) }
    settle()
  }

  mutating func tick() {
    engine.tick(now)
    settle()
  }

  mutating func settle() {
    while true {
      var buffer: [UInt8] = []
      engine.drain(into: &buffer)
      output += buffer
      if buffer.isEmpty { break }
    }
    for result in engine.takeResults() {
      outcomes.append(result.outcome)
      ids.append(result.notification.id)
    }
  }

  /// The frames in the output, after the preface.
  var frames: [SentFrame] {
    var frames: [SentFrame] = []
    var rest = output.dropFirst(24)
    while rest.count >= 9 {
      let head = rest.prefix(9).map(UInt32.init)
      let size = Int(head[0] << 16 | head[1] << 8 | head[2])
      frames.append(
        SentFrame(
          type: head[3], flags: head[4],
          stream: head[5] << 24 | head[6] << 16 | head[7] << 8 | head[8],
          payload: Array(rest.dropFirst(9).prefix(size))))
      rest = rest.dropFirst(9 + size)
    }
    return frames
  }

  /// The streams of the frames with this type in the output.
  func sent(_ type: nghttp2_frame_type) -> [Int] {
    frames.filter { $0.type == type.rawValue && (type != NGHTTP2_PING || !$0.isAcknowledgement) }
      .map { Int($0.stream) }
  }
}

/// A frame from the engine.
struct SentFrame {
  let type: UInt32
  let flags: UInt32
  let stream: UInt32
  let payload: [UInt8]

  /// True for an answer to SETTINGS or PING.
  var isAcknowledgement: Bool { flags & 1 != 0 }

  /// The error code of GOAWAY or RST_STREAM.
  var errorCode: UInt32? {
    let code =
      switch type {
      case NGHTTP2_GOAWAY.rawValue: payload.dropFirst(4).prefix(4)
      case NGHTTP2_RST_STREAM.rawValue: payload.prefix(4)
      default: [] as ArraySlice<UInt8>
      }
    return code.count == 4 ? code.reduce(0) { $0 << 8 | UInt32($1) } : nil
  }
}

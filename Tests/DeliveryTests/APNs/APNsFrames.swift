import CNGHTTP2
import Support

/// Frames from a server.
enum Frame {
  static func make(
    _ type: nghttp2_frame_type, flags: UInt8, _ stream: UInt32, _ payload: [UInt8]
  ) -> [UInt8] {
    let size = UInt32(payload.count)
    return bigEndian(size).dropFirst() + [UInt8(type.rawValue), flags] + bigEndian(stream) + payload
  }

  static func settings(maximumStreams: UInt32) -> [UInt8] {
    make(NGHTTP2_SETTINGS, flags: 0, 0, [0, 3] + bigEndian(maximumStreams))
  }

  /// WINDOW_UPDATE for the whole connection.
  static func windowUpdate(_ increment: UInt32) -> [UInt8] {
    make(NGHTTP2_WINDOW_UPDATE, flags: 0, 0, bigEndian(increment))
  }

  static func goaway(lastStream: UInt32, _ text: String) -> [UInt8] {
    make(NGHTTP2_GOAWAY, flags: 0, 0, bigEndian(lastStream) + bigEndian(0) + Array(text.utf8))
  }

  static func reset(_ stream: UInt32, _ code: UInt32) -> [UInt8] {
    make(NGHTTP2_RST_STREAM, flags: 0, stream, bigEndian(code))
  }

  /// `:status` as a literal with its name in the static table (RFC 7541 §6.2.2).
  static func answer(
    _ stream: UInt32, status: Int, body: String? = nil, isWhole: Bool = true
  ) -> [UInt8] {
    let fields = [0x08, 3] + Array("\(status)".utf8)
    let isEnd = body == nil && isWhole
    let head = make(NGHTTP2_HEADERS, flags: isEnd ? 5 : 4, stream, fields)
    guard let body else { return head }
    return head + make(NGHTTP2_DATA, flags: isWhole ? 1 : 0, stream, Array(body.utf8))
  }

  /// HEADERS with END_STREAM, followed by CONTINUATION if `block` does not fit.
  static func headers(_ stream: UInt32, _ block: [UInt8]) -> [UInt8] {
    let (first, rest) = (block.prefix(16_384), block.dropFirst(16_384))
    let head = make(NGHTTP2_HEADERS, flags: rest.isEmpty ? 5 : 1, stream, Array(first))
    return rest.isEmpty ? head : head + make(NGHTTP2_CONTINUATION, flags: 4, stream, Array(rest))
  }

  static func random(_ generator: inout SeededGenerator) -> [UInt8] {
    let stream = UInt32(2 * Int.random(in: 1...14, using: &generator) + 1)
    switch Int.random(in: 0..<8, using: &generator) {
    case 0: return settings(maximumStreams: .random(in: 0...20, using: &generator))
    case 1: return goaway(lastStream: stream, "bye")
    case 2: return reset(stream, .random(in: 0...13, using: &generator))
    case 3: return make(NGHTTP2_PING, flags: 0, 0, Array(repeating: 1, count: 8))
    case 4: return answer(stream, status: 410, body: #"{"reason":"Unregistered","timestamp":1}"#)
    case 5: return answer(stream, status: 503, body: "{", isWhole: false)
    case 6: return make(NGHTTP2_WINDOW_UPDATE, flags: 0, 0, bigEndian(1000))
    default: return answer(stream, status: 200)
    }
  }

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian, Array.init)
  }
}

extension SeededGenerator {
  /// `bytes` with up to three changes.
  mutating func mutated(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 0...3, using: &self) {
      let index = Int.random(in: 0...bytes.count, using: &self)
      switch Int.random(in: 0..<4, using: &self) {
      case 0 where index < bytes.count: bytes[index] = .random(in: 0...255, using: &self)
      case 1 where index < bytes.count: bytes.remove(at: index)
      case 2: bytes.removeLast(bytes.count - index)
      default: bytes.insert(.random(in: 0...255, using: &self), at: index)
      }
    }
    return bytes
  }
}

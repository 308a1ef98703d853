import Base

/// Chunked content (RFC 9112 §7.1), passed on without extensions and trailers.
struct ChunkedContent {
  private enum State {
    /// In the length of a chunk.
    case length(Int, digits: Int)
    /// Between the length and the end of its line.
    case lineEnd(length: Int, skipped: Int)
    case data(left: Int)
    /// Between the data and CR, then LF.
    case dataCR, dataLF
    case complete
  }

  private static let digitLimit = 8
  private static let extensionLimit = 256

  private var state = State.length(0, digits: 0)

  var isComplete: Bool { if case .complete = state { true } else { false } }

  /// The part of the next bytes to pass on. Removes from `rest` all bytes up to the line of the last
  /// chunk.
  ///
  /// - Throws: ``AgentAnswerHead/Malformed``.
  mutating func take(
    _ rest: inout ArraySlice<UInt8>
  ) throws(AgentAnswerHead.Malformed) -> [UInt8] {
    var passed: [UInt8] = []
    while let octet = rest.first, !isComplete {
      if case .data(let left) = state {
        passed += rest.prefix(left)
        state = rest.count < left ? .data(left: left - rest.count) : .dataCR
        rest = rest.dropFirst(left)
      } else {
        passed += try step(octet)
        rest = rest.dropFirst()
      }
    }
    return passed
  }

  /// Reads an octet outside the data.
  private mutating func step(_ octet: UInt8) throws(AgentAnswerHead.Malformed) -> [UInt8] {
    let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    switch (state, octet) {
    case (.length(let length, let digits), _)
    where digits < Self.digitLimit && octet.hexDigitValue != nil:
      state = .length(length << 4 | Int(octet.hexDigitValue ?? 0), digits: digits + 1)
    case (.length(let length, 1...), cr), (.length(let length, 1...), UInt8(ascii: ";")),
      (.length(let length, 1...), UInt8(ascii: " ")):
      state = .lineEnd(length: length, skipped: 0)
    case (.lineEnd(0, _), lf):
      state = .complete
      return Array("0\r\n\r\n".utf8)
    case (.lineEnd(let length, _), lf):
      state = .data(left: length)
      return Array("\(String(length, radix: 16))\r\n".utf8)
    case (.lineEnd(let length, let skipped), _) where skipped < Self.extensionLimit:
      state = .lineEnd(length: length, skipped: skipped + 1)
    case (.dataCR, cr): state = .dataLF
    case (.dataLF, lf):
      state = .length(0, digits: 0)
      return [cr, lf]
    default: throw AgentAnswerHead.Malformed()
    }
    return []
  }
}

import Base

/// Header field of a request to the agent, or of its answer (RFC 9112 §5).
struct RelayField {
  /// Line as received.
  let line: ArraySlice<UInt8>
  /// Name in lower case, with `-` instead of `_`.
  let name: String
  let value: ArraySlice<UInt8>

  /// - Returns: nil if `line` is not a field.
  init?(_ line: ArraySlice<UInt8>) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
      line[..<colon].allSatisfy({ $0.isAlphanumeric || "-_.!#$%&'*+^`|~".utf8.contains($0) }),
      line.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 })
    else { return nil }
    self.line = line
    name = String(
      decoding: line[..<colon].map { octet in
        octet.isUppercaseLetter
          ? octet | 0x20 : octet == UInt8(ascii: "_") ? UInt8(ascii: "-") : octet
      }, as: UTF8.self)
    let rest = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
    value = rest.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { rest[...$0] } ?? []
  }

  /// Whether the sender closes the connection after this message (RFC 9112 §9.3).
  var asksToClose: Bool {
    name == "connection"
      && value.split { !($0.isLetter || $0 == UInt8(ascii: "-")) }
        .contains { $0.lazy.map { $0 | 0x20 }.elementsEqual("close".utf8) }
  }

  /// The end of the head, behind its empty line, in `bytes` from `start` on. A loop, because
  /// `firstRange(of:)` takes a third of the relay's time.
  static func endOfHead(in bytes: [UInt8], from start: Int) -> Int? {
    let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))
    var index = start + 3
    while index < bytes.count {
      if bytes[index] == lf, bytes[index - 1] == cr, bytes[index - 2] == lf, bytes[index - 3] == cr
      {
        return index + 1
      }
      index += 1
    }
    return nil
  }

  /// Splits a head into lines, without its empty line.
  static func lines(of head: [UInt8]) -> [ArraySlice<UInt8>] {
    head.dropLast(4).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { line in line.last == UInt8(ascii: "\r") ? line.dropLast() : line }
  }
}

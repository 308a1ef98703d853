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
    name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
      .split(separator: "_", omittingEmptySubsequences: false).joined(separator: "-")
    let rest = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
    value = rest.lastIndex { $0 != 0x20 && $0 != 0x09 }.map { rest[...$0] } ?? []
  }

  /// Splits a head into lines, without its empty line.
  static func lines(of head: [UInt8]) -> [ArraySlice<UInt8>] {
    head.dropLast(4).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { line in line.last == UInt8(ascii: "\r") ? line.dropLast() : line }
  }
}

import Base

/// Target of a request to the agent.
struct RelayTarget {
  let path: ArraySlice<UInt8>
  private let query: ArraySlice<UInt8>?

  init(_ target: ArraySlice<UInt8>) {
    let mark = target.firstIndex(of: UInt8(ascii: "?"))
    path = target[..<(mark ?? target.endIndex)]
    query = mark.map { target[($0 + 1)...] }
  }

  /// Whether the path, as written, belongs to the agent. False for a path that could be read in two
  /// ways.
  var isOfAgent: Bool {
    let text = String(decoding: path, as: UTF8.self)
    guard
      ["/ws", "/api/file"].contains(text)
        || ["/api/claude/", "/api/git/"].contains(where: { text.hasPrefix($0) })
    else { return false }
    let plain = path.decodedFully
    let segments = plain.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      .dropFirst()
    return plain.count(where: { $0 == UInt8(ascii: "/") })
      == path.count(where: { $0 == UInt8(ascii: "/") })
      && !plain.contains { $0 == UInt8(ascii: "\\") || $0 < 0x20 || $0 == 0x7f }
      && !segments.dropLast().contains { $0.isEmpty }
      && !segments.contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
      && !path.showsToken
  }

  /// The target without the items of the query that hold, or may hold, a token.
  var withoutTokens: [UInt8] {
    guard let query else { return Array(path) }
    let items = query.split { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") }
    let kept = items.filter { !Self.namesToken($0) && !$0.showsToken }
    if kept.isEmpty { return Array(path) }
    return Array(path) + "?".utf8 + Array(kept.joined(separator: "&".utf8))
  }

  /// Whether a reader could treat the name as `token`, in any spelling.
  private static func namesToken(_ item: ArraySlice<UInt8>) -> Bool {
    let name = item.decodedFully.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "[") }
    let letters = String(decoding: name.filter(\.isAlphanumeric), as: UTF8.self).lowercased()
    return ["token", "accesstoken", "refreshtoken", "pairingtoken"].contains(letters)
  }
}

extension ArraySlice<UInt8> {
  /// Whether it contains one of our tokens, percent-encoded or not.
  var showsToken: Bool {
    let (text, mark) = (decodedFully, UInt8(ascii: "_"))
    guard text.count >= 7 else { return false }
    return (0...(text.count - 7)).contains { start in
      text[start + 4] == mark && text[start + 6] == mark
        && "psrc".utf8.contains(text[start + 5] | 0x20)
        && "cdev".utf8.elementsEqual(text[start..<(start + 4)].lazy.map { $0 | 0x20 })
    }
  }

  /// Percent-decodes up to four times, as a careless reader might.
  var decodedFully: [UInt8] {
    var decoded = Array(self)
    for _ in 1...4 {
      guard let next = decoded.decodedOnce else { break }
      decoded = next
    }
    return decoded
  }
}

extension [UInt8] {
  /// Percent-decoded once; nil if there is nothing to decode.
  fileprivate var decodedOnce: [UInt8]? {
    guard contains(UInt8(ascii: "%")) else { return nil }
    var result: [UInt8] = []
    var index = 0
    while index < count {
      if self[index] == UInt8(ascii: "%"), index + 2 < count,
        let high = self[index + 1].hexDigitValue, let low = self[index + 2].hexDigitValue
      {
        result.append(high << 4 | low)
        index += 3
      } else {
        result.append(self[index])
        index += 1
      }
    }
    return result.count == count ? nil : result
  }
}

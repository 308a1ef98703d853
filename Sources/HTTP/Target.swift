import Base

/// Checks of a request target's path, and access to its query.
extension Request {
  typealias Bytes = UnsafeBufferPointer<UInt8>

  /// Whether the path of `target` (the part before `?`) could be read in two ways: it has an encoded
  /// slash, a backslash, a `..` segment, `//` or NUL, plain or percent-encoded.
  static func isAmbiguous(target: Bytes) -> Bool {
    var index = 0
    var segment = (length: 0, dots: 0)
    while index < target.count, target[index] != UInt8(ascii: "?") {
      let triplet = target[index] == UInt8(ascii: "%") ? octet(at: index, of: target) : nil
      switch triplet ?? target[index] {
      case UInt8(ascii: "\\"), 0: return true
      case UInt8(ascii: "/"):
        if triplet != nil || index > 0 && segment.length == 0 || segment == (2, 2) { return true }
        segment = (0, 0)
      case UInt8(ascii: "."): segment = (segment.length + 1, segment.dots + 1)
      default: segment.length += 1
      }
      index += triplet == nil ? 1 : 3
    }
    return segment == (2, 2)
  }

  /// The first value of `name` in the query, decoded as a form; nil if the query has no such name.
  package func queryItem(_ name: String) -> String? {
    parameters.value("QUERY_STRING") { Self.item(name, of: $0) } ?? nil
  }

  /// Like ``queryItem(_:)``, but reads the query of ``requestURI``: nginx gives the subrequest of
  /// `auth_request` an empty `QUERY_STRING`.
  package func requestURIQueryItem(_ name: String) -> String? {
    parameters.value("REQUEST_URI") { target in
      guard let mark = target.firstIndex(of: UInt8(ascii: "?")) else { return nil }
      return Self.item(name, of: Bytes(rebasing: target[(mark + 1)...]))
    } ?? nil
  }

  /// Like ``queryItem(_:)``, but reads a body that is a form (`application/x-www-form-urlencoded`).
  package func formItem(_ name: String) -> String? {
    body.withUnsafeBufferPointer { Self.item(name, of: $0) }
  }

  private static func item(_ name: String, of query: Bytes) -> String? {
    for pair in query.split(separator: UInt8(ascii: "&")) {
      let equals = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
      guard decoded(pair[..<equals]) == name else { continue }
      return equals == pair.endIndex ? "" : decoded(pair[(equals + 1)...])
    }
    return nil
  }

  /// Decodes each `%XX` of `text` to an octet and, in a form, `+` to a space. A `%` without two hexadecimal
  /// digits stays as it is (WHATWG URL, application/x-www-form-urlencoded parsing).
  static func decoded(_ text: Slice<Bytes>, isForm: Bool = true) -> String {
    let source = Bytes(rebasing: text)
    return String(unsafeUninitializedCapacity: source.count) { target in
      var index = 0
      var count = 0
      while index < source.count {
        var byte = source[index]
        index += 1
        if isForm, byte == UInt8(ascii: "+") {
          byte = UInt8(ascii: " ")
        } else if byte == UInt8(ascii: "%"), let octet = octet(at: index - 1, of: source) {
          byte = octet
          index += 2
        }
        target[count] = byte
        count += 1
      }
      return count
    }
  }

  /// The octet of the triplet `%XX` at `index`; nil if the two digits are not hexadecimal.
  private static func octet(at index: Int, of text: Bytes) -> UInt8? {
    guard index + 2 < text.count, let high = text[index + 1].hexDigitValue,
      let low = text[index + 2].hexDigitValue
    else { return nil }
    return high << 4 | low
  }
}

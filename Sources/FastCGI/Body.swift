import HTTP

/// The content of a request, or its defect.
struct Body {
  var bytes: [UInt8] = []
  var defect: Request.Defect?

  /// Reads `CONTENT_LENGTH` octets or a whole body without a length, but not more than `limit` octets.
  ///
  /// - Parameters:
  ///   - hasEnd: Whether the input ends with the content, as a stream of FastCGI does. Otherwise a request without
  ///     `CONTENT_LENGTH` and without chunks has no content (RFC 3875 §4.1.2).
  ///   - read: Fills the buffer and returns its length, or less at the end of the input.
  init(
    _ parameters: Parameters, limit: Int, hasEnd: Bool,
    read: (UnsafeMutableBufferPointer<UInt8>) -> Int
  ) {
    let text = parameters.text("CONTENT_LENGTH") ?? ""
    if text.isEmpty {
      // HTTP/2 needs no length (RFC 9113 §8.1.1), and for chunks (RFC 9112 §7.1) the web server passes on none.
      let isRead = hasEnd || !(parameters.text("TRANSFER_ENCODING", after: .http) ?? "").isEmpty
      if isRead { readToEnd(limit: limit, read) }
      return
    }
    guard let length = Self.length(text) else {
      defect = .bodyIncomplete
      return
    }
    guard length <= limit else {
      defect = .bodyTooLarge
      return
    }
    guard length > 0 else { return }
    bytes = [UInt8](repeating: 0, count: length)
    if bytes.withUnsafeMutableBufferPointer({ read($0) }) < length { refuse() }
  }

  /// Reads a body of unknown length; refuses more than `limit` octets.
  private mutating func readToEnd(
    limit: Int, _ read: (UnsafeMutableBufferPointer<UInt8>) -> Int
  ) {
    // In pieces, because most requests of unknown length have no content.
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { piece in
      while bytes.count <= limit {
        let count = read(piece)
        bytes.append(contentsOf: piece.prefix(count))
        if count < piece.count { break }
      }
    }
    guard bytes.count > limit else { return }
    bytes = []
    defect = .bodyTooLarge
  }

  /// Discards the body because its length is not `CONTENT_LENGTH`.
  mutating func refuse() {
    bytes = []
    defect = .bodyIncomplete
  }

  /// The value of `CONTENT_LENGTH`; nil if it is malformed.
  private static func length(_ text: String) -> Int? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int(text) ?? .max
  }
}

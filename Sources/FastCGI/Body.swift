import HTTP

/// The content of a request, or what is wrong with it.
struct Body {
  var bytes: [UInt8] = []
  var defect: Request.Defect?

  /// Reads as much as `CONTENT_LENGTH` says, or all of a chunked body, unless that is more than `limit` octets.
  ///
  /// - Parameter read: Fills the buffer and returns its length, or less where the input ends.
  init(
    _ parameters: Parameters, limit: Int, read: (UnsafeMutableBufferPointer<UInt8>) -> Int
  ) {
    if Self.isChunked(parameters) {
      readToEnd(limit: limit, read)
      return
    }
    guard let length = Self.contentLength(parameters) else {
      defect = .bodyIncomplete
      return
    }
    guard length <= limit else {
      defect = .bodyTooLarge
      return
    }
    guard length > 0 else { return }
    bytes = Array(unsafeUninitializedCapacity: length) { $1 = read($0) }
    if bytes.count < length { refuse() }
  }

  /// Reads a body whose length nobody knows before its end, unless it is more than `limit` octets.
  private mutating func readToEnd(
    limit: Int, _ read: (UnsafeMutableBufferPointer<UInt8>) -> Int
  ) {
    bytes = Array(unsafeUninitializedCapacity: limit + 1) { $1 = read($0) }
    guard bytes.count > limit else { return }
    bytes = []
    defect = .bodyTooLarge
  }

  /// Discards what was read: it is not what `CONTENT_LENGTH` announced.
  mutating func refuse() {
    bytes = []
    defect = .bodyIncomplete
  }

  /// Whether the client sent chunks (RFC 9112 §7.1), of which the web server tells no length.
  private static func isChunked(_ parameters: Parameters) -> Bool {
    (parameters.text("CONTENT_LENGTH") ?? "").isEmpty
      && !(parameters.text("TRANSFER_ENCODING", after: .http) ?? "").isEmpty
  }

  /// 0 without a `CONTENT_LENGTH` (RFC 3875 §4.1.2), nil if it is malformed.
  private static func contentLength(_ parameters: Parameters) -> Int? {
    let text = parameters.text("CONTENT_LENGTH") ?? ""
    guard !text.isEmpty else { return 0 }
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int(text) ?? .max
  }
}

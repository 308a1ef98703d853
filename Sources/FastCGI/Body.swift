import HTTP

/// The content of a request, or its defect.
struct Body {
  var bytes: [UInt8] = []
  var defect: Request.Defect?

  /// Reads `CONTENT_LENGTH` octets or a whole chunked body, but not more than `limit` octets.
  ///
  /// - Parameter read: Fills the buffer and returns its length, or less at the end of the input.
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

  /// Reads a body of unknown length; refuses more than `limit` octets.
  private mutating func readToEnd(
    limit: Int, _ read: (UnsafeMutableBufferPointer<UInt8>) -> Int
  ) {
    bytes = Array(unsafeUninitializedCapacity: limit + 1) { $1 = read($0) }
    guard bytes.count > limit else { return }
    bytes = []
    defect = .bodyTooLarge
  }

  /// Discards the body because its length is not `CONTENT_LENGTH`.
  mutating func refuse() {
    bytes = []
    defect = .bodyIncomplete
  }

  /// Whether the client sent chunks (RFC 9112 §7.1), so that the web server passes on no length.
  private static func isChunked(_ parameters: Parameters) -> Bool {
    (parameters.text("CONTENT_LENGTH") ?? "").isEmpty
      && !(parameters.text("TRANSFER_ENCODING", after: .http) ?? "").isEmpty
  }

  /// The value of `CONTENT_LENGTH`: 0 if it is absent (RFC 3875 §4.1.2), nil if it is malformed.
  private static func contentLength(_ parameters: Parameters) -> Int? {
    let text = parameters.text("CONTENT_LENGTH") ?? ""
    guard !text.isEmpty else { return 0 }
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int(text) ?? .max
  }
}

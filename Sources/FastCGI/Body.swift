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
    let text = parameters.text("CONTENT_LENGTH") ?? ""
    if text.isEmpty {
      // Chunks (RFC 9112 §7.1), for which the web server passes on no length, or no content (RFC 3875 §4.1.2).
      let encoding = parameters.text("TRANSFER_ENCODING", after: .http) ?? ""
      if !encoding.isEmpty { readToEnd(limit: limit, read) }
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

  /// The value of `CONTENT_LENGTH`; nil if it is malformed.
  private static func length(_ text: String) -> Int? {
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Int(text) ?? .max
  }
}

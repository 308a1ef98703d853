import Base

/// An answer to a request.
package struct Response: Sendable {
  /// The status code (RFC 9110 §15).
  package var status: Int
  /// The fields without `Content-Length`, which ``serialized(for:)`` adds.
  package var fields: [(name: String, value: String)]
  /// The content. An answer to HEAD sends only its length.
  package var body: [UInt8]

  package init(
    status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []
  ) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  /// The CGI response (RFC 3875 §6) to a request of `method`.
  ///
  /// A malformed field name is a bug of ours and stops the process. A value may come from a client: its CR, LF
  /// and NUL become spaces (RFC 9110 §5.5).
  package func serialized(for method: String) -> [UInt8] {
    precondition((200...599).contains(status), "not a final status code")
    var bytes: [UInt8] = []
    bytes.reserveCapacity(
      fields.reduce(96 + body.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
    Self.append("Status", String(status), reason, to: &bytes)
    for field in fields { Self.append(field.name, field.value, to: &bytes) }
    // 204 and 304 have no content and therefore no Content-Length (RFC 9110 §8.6).
    let hasContent = status != 204 && status != 304
    if hasContent { Self.append("Content-Length", String(body.count), to: &bytes) }
    Self.endLine(&bytes)
    if hasContent, method != "HEAD" { bytes.append(contentsOf: body) }
    return bytes
  }

  /// The reason phrase (RFC 9110 §15). nginx copies the status line as it is; without a phrase the line
  /// lacks the space that RFC 9112 §4 requires.
  private var reason: String {
    switch status {
    case 200: "OK"
    case 201: "Created"
    case 204: "No Content"
    case 302: "Found"
    case 303: "See Other"
    case 304: "Not Modified"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 409: "Conflict"
    case 413: "Content Too Large"
    case 429: "Too Many Requests"
    case 500: "Internal Server Error"
    case 503: "Service Unavailable"
    case 504: "Gateway Timeout"
    default: "Status \(status)"
    }
  }

  private static func append(
    _ name: String, _ value: String, _ more: String? = nil, to bytes: inout [UInt8]
  ) {
    let start = bytes.count
    bytes.append(text: name)
    precondition(
      bytes.count > start
        && !bytes[start...].contains { breaksFields($0) || $0 == UInt8(ascii: ":") },
      "a field must have a name, without CR, LF, NUL or a colon")
    bytes.append(UInt8(ascii: ":"))
    bytes.append(UInt8(ascii: " "))
    let valueStart = bytes.count
    bytes.append(text: value)
    if let more {
      bytes.append(UInt8(ascii: " "))
      bytes.append(text: more)
    }
    for index in valueStart..<bytes.count where breaksFields(bytes[index]) {
      bytes[index] = UInt8(ascii: " ")
    }
    endLine(&bytes)
  }

  private static func endLine(_ bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\r"))
    bytes.append(UInt8(ascii: "\n"))
  }

  private static func breaksFields(_ octet: UInt8) -> Bool {
    octet == 13 || octet == 10 || octet == 0
  }
}

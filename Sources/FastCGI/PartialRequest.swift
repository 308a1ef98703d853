/// The part of one request that has arrived on a connection; detects its end (FastCGI specification §3.3).
///
/// Reads only the headers of the records and the lengths of the parameters; libfcgi parses the content when the
/// request is complete. So a slow client keeps no worker busy, even if its web server passes on each piece at once.
struct PartialRequest {
  enum State { case incomplete, complete, malformed }

  private(set) var state = State.incomplete
  /// The records so far, without the records of a body after it exceeds its limit.
  private(set) var bytes: [UInt8] = []
  let begin = ContinuousClock.now

  /// The start of the first incomplete record in `bytes`.
  private var next = 0
  private var requestID: UInt16?
  private var isAuthorizer = false
  private var hasParameters = false
  private var parameters = ParameterLengths()
  private var bodyLength = 0
  private let bodyLimit: Int

  /// The limit of all parameters together, in octets. The limits of web servers are lower.
  private static let parametersLimit = 128 << 10
  /// The number of octets of a too large body that are read, so that the request gets an answer.
  private static let drainLimit = 1 << 20
  private static let headLength = 8

  /// - Parameter bodyLimit: The largest body to keep, in octets.
  init(bodyLimit: Int) {
    self.bodyLimit = bodyLimit
  }

  /// Adds the next bytes of the connection. Ignores bytes after the end of the request.
  mutating func append(_ more: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: more)
    while state == .incomplete, bytes.count - next >= Self.headLength {
      let contentLength = Int(bytes[next + 4]) << 8 | Int(bytes[next + 5])
      let end = next + Self.headLength + contentLength + Int(bytes[next + 6])
      guard bytes.count >= end else { return }
      state = stateAfterRecord(contentLength)
      if contentLength > 0, bodyLength - contentLength > bodyLimit {
        bytes.removeSubrange(next..<end)
      } else {
        next = end
      }
    }
  }

  private mutating func stateAfterRecord(_ length: Int) -> State {
    guard bytes[next] == 1 else { return .malformed }
    let id = UInt16(bytes[next + 2]) << 8 | UInt16(bytes[next + 3])
    let (begin, params, stdin): (UInt8, UInt8, UInt8) = (1, 4, 5)
    switch bytes[next + 1] {
    // libfcgi would read the padding of this record as the next record; no web server sends any.
    case begin where requestID == nil && id != 0 && length == 8 && bytes[next + 6] == 0:
      return stateAfterBeginning(id)
    case params where id == requestID && !hasParameters: return stateAfterParameters(length)
    case stdin where id == requestID && hasParameters: return stateAfterBody(length)
    default: return .malformed
    }
  }

  private mutating func stateAfterBeginning(_ id: UInt16) -> State {
    let (responder, authorizer): (UInt8, UInt8) = (1, 2)
    let role = bytes[next + Self.headLength + 1]
    guard bytes[next + Self.headLength] == 0, role == responder || role == authorizer else {
      return .malformed
    }
    requestID = id
    isAuthorizer = role == authorizer
    return .incomplete
  }

  private mutating func stateAfterParameters(_ length: Int) -> State {
    let begin = next + Self.headLength
    parameters.append(bytes[begin..<(begin + length)])
    hasParameters = length == 0
    guard parameters.count <= Self.parametersLimit, !hasParameters || parameters.areComplete else {
      return .malformed
    }
    return hasParameters && isAuthorizer ? .complete : .incomplete
  }

  private mutating func stateAfterBody(_ length: Int) -> State {
    bodyLength += length
    guard bodyLength <= Self.drainLimit else { return .malformed }
    return length == 0 ? .complete : .incomplete
  }
}

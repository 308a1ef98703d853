/// Finds the end of a request in its records (FastCGI specification §3.3).
///
/// Reads only the headers of the records and the lengths of the parameters; libfcgi parses the content.
struct RecordScan {
  enum State { case incomplete, complete, malformed }

  private(set) var state = State.incomplete

  /// The start of the first incomplete record.
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

  /// Scans the records in `bytes`, all bytes so far, up to the first incomplete one.
  ///
  /// - Returns: A record of a too large body, to remove from the bytes before the next call; usually nil.
  mutating func advance(over bytes: UnsafeRawBufferPointer) -> Range<Int>? {
    while state == .incomplete, bytes.count - next >= Self.headLength {
      let contentLength = Int(bytes[next + 4]) << 8 | Int(bytes[next + 5])
      let content = next + Self.headLength
      let end = content + contentLength + Int(bytes[next + 6])
      guard bytes.count >= end else { break }
      let head = UnsafeRawBufferPointer(rebasing: bytes[next..<content])
      state = stateAfterRecord(
        head, UnsafeRawBufferPointer(rebasing: bytes[content..<(content + contentLength)]))
      if contentLength > 0, bodyLength - contentLength > bodyLimit { return next..<end }
      next = end
    }
    return nil
  }

  /// Accepts no more of the request.
  mutating func refuse() { state = .malformed }

  private mutating func stateAfterRecord(
    _ head: UnsafeRawBufferPointer, _ content: UnsafeRawBufferPointer
  ) -> State {
    guard head[0] == 1 else { return .malformed }
    let id = UInt16(head[2]) << 8 | UInt16(head[3])
    let (begin, params, stdin): (UInt8, UInt8, UInt8) = (1, 4, 5)
    // libfcgi reads the padding of the first record, and of an empty one, as the next record. No web server sends any.
    let isPadded = head[6] > 0
    if isPadded, head[1] == begin || content.isEmpty { return .malformed }
    switch head[1] {
    case begin where requestID == nil && id != 0 && content.count == 8:
      return stateAfterBeginning(id, content)
    case params where id == requestID && !hasParameters: return stateAfterParameters(content)
    case stdin where id == requestID && hasParameters: return stateAfterBody(content.count)
    default: return .malformed
    }
  }

  private mutating func stateAfterBeginning(_ id: UInt16, _ content: UnsafeRawBufferPointer)
    -> State
  {
    let (responder, authorizer): (UInt8, UInt8) = (1, 2)
    guard content[0] == 0, content[1] == responder || content[1] == authorizer else {
      return .malformed
    }
    requestID = id
    isAuthorizer = content[1] == authorizer
    return .incomplete
  }

  private mutating func stateAfterParameters(_ content: UnsafeRawBufferPointer) -> State {
    parameters.append(content)
    hasParameters = content.isEmpty
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

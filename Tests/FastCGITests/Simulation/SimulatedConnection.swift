import Foundation

/// A web server's side of a connection, which never waits.
final class SimulatedConnection {
  private let connection: Connection
  /// The request that is sent or waits for its answer.
  private(set) var request: SimulatedRequest?
  private var sent = 0
  /// The time before the first octets of the request were sent.
  private(set) var begunAt = ContinuousClock.now
  private var reader = AnswerReader()
  /// Whether the server has closed the connection.
  private(set) var hasEnded = false
  /// Whether the connection may end after its last answer.
  private(set) var mayEnd = false
  /// Whether there were too many partial requests during this one.
  var mayBeDropped = false
  private(set) var isCut = false
  private(set) var hasEndedSending = false

  init(to path: String) throws {
    connection = try Connection(to: path)
  }

  var descriptor: CInt { connection.descriptor }
  /// Octets of the request that are not sent.
  var unsent: Int { request.map { $0.octets.count - sent } ?? 0 }
  /// Whether the server has all octets that it needs to answer, if `count` more are sent.
  func isComplete(after count: Int = 0) -> Bool {
    request.map { min(sent + count, $0.octets.count) >= $0.neededCount } ?? false
  }
  var isIdle: Bool { request == nil && !mayEnd && !hasEnded && !hasEndedSending }
  /// Whether a part of a request is sent that has no answer yet.
  var isBegun: Bool { request != nil && sent > 0 }
  /// Whether the server must answer the request.
  var expectsAnswer: Bool { request?.defect == nil && isComplete() }
  /// Whether octets of an answer have arrived.
  var hasPartOfAnswer: Bool { !reader.isEmpty }

  func begin(_ new: SimulatedRequest) {
    (request, sent, reader) = (new, 0, AnswerReader(id: new.id))
    (mayBeDropped, isCut) = (false, false)
  }

  /// Sends at most `count` octets of the request.
  func send(_ count: Int) {
    guard let request, unsent > 0, !hasEnded else { return }
    if sent == 0 { begunAt = .now }
    let count = request.octets.withUnsafeBytes {
      Glibc.send(
        descriptor, $0.baseAddress! + sent, min(count, unsent),
        CInt(MSG_NOSIGNAL | MSG_DONTWAIT))
    }
    // The server has closed the connection if this fails for another reason; reading shows it.
    sent += max(count, 0)
    if unsent > 0 { isCut = true }
  }

  /// Closes this side of the connection.
  func endSending() {
    connection.endSending()
    hasEndedSending = true
    mayEnd = true
  }

  /// Reads octets that have arrived.
  ///
  /// - Returns: the whole answer to the request, at most once.
  func read() throws -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, CInt(MSG_DONTWAIT))
    if count == 0 || count < 0 && errno != EAGAIN { hasEnded = true }
    guard count > 0 else { return nil }
    guard let answer = try reader.read(buffer[..<count]) else { return nil }
    if request?.isKept == false { mayEnd = true }
    return answer
  }

  /// Forgets the request that is answered.
  func finish() { (request, sent, reader) = (nil, 0, AnswerReader()) }
}

/// Reads the records of one answer.
private struct AnswerReader {
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private let id: UInt16?

  /// - Parameter id: that of the request; nil if no answer is expected.
  init(id: UInt16? = nil) { self.id = id }

  enum Problem: Error {
    case unexpected, otherRequest, octetsAfterTheEnd
    case unknownRecord([UInt8])
  }

  var isEmpty: Bool { input.isEmpty && output.isEmpty }

  mutating func read(_ bytes: ArraySlice<UInt8>) throws -> [UInt8]? {
    guard let id else { throw Problem.unexpected }
    input += bytes
    var next = 0
    while input.count - next >= 8 {
      let head = Array(input[next..<next + 8])
      let length = Int(head[4]) << 8 | Int(head[5])
      let end = next + 8 + length + Int(head[6])
      guard input.count >= end else { break }
      guard head[0] == 1, UInt16(head[2]) << 8 | UInt16(head[3]) == id else {
        throw Problem.otherRequest
      }
      let content = input[(next + 8)...].prefix(length)
      next = end
      switch RecordType(rawValue: head[1]) {
      case .stdout: output += content
      case .end where content.elementsEqual([0, 0, 0, 0, 0, 0, 0, 0]):
        guard next == input.count else { throw Problem.octetsAfterTheEnd }
        return output
      default: throw Problem.unknownRecord(head + content)
      }
    }
    input.removeFirst(next)
    return nil
  }
}

import Base
import Glibc

/// Asks the relay whether the agent answers.
struct AgentProbe {
  /// The wait limit for connecting and for each read of the answer.
  private static let limit = timeval(tv_sec: 3, tv_usec: 0)
  private static let question = "GET /_agent HTTP/1.1\r\n\r\n"

  /// The path of the relay's unix socket.
  let socketPath: String

  /// Returns true if the agent answers; always false without a relay.
  func agentAnswers() -> Bool {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var limit = Self.limit
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    let question = Self.question
    guard connectSocket(descriptor, to: socketPath),
      send(descriptor, question, question.utf8.count, CInt(MSG_NOSIGNAL)) == question.utf8.count
    else { return false }
    let yes = "HTTP/1.1 204 "
    var answer = [UInt8](repeating: 0, count: yes.utf8.count)
    return recv(descriptor, &answer, answer.count, CInt(MSG_WAITALL)) == answer.count
      && answer.elementsEqual(yes.utf8)
  }
}

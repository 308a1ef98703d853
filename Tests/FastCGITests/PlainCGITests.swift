import Foundation
import HTTP
import Testing

@testable import FastCGI

/// The server as a plain CGI program.
@Suite struct PlainCGITests {
  /// The answer to `pieces` that arrive on standard input one after the other.
  private func answer(_ parameters: [(String, String)], _ pieces: [String] = []) throws -> Answer {
    let (input, output) = (Pipe(), Pipe())
    Thread {
      for piece in pieces {
        try? input.fileHandleForWriting.write(contentsOf: Data(piece.utf8))
        sched_yield()
      }
      try? input.fileHandleForWriting.close()
    }.start()
    var environment = Parameters()
    for (name, value) in parameters { environment.append(name, value) }
    try respond(
      to: environment, input: input.fileHandleForReading.fileDescriptor,
      output: output.fileHandleForWriting.fileDescriptor, bodyLimit: 1000, describe)
    try output.fileHandleForWriting.close()
    return Answer(Array(try output.fileHandleForReading.readToEnd() ?? Data()))
  }

  @Test func aRequestIsAnswered() throws {
    let answer = try answer([
      ("REQUEST_METHOD", "GET"), ("SCRIPT_NAME", "/cgi"), ("PATH_INFO", "/a"),
    ])
    #expect(answer.head == "Status: 200 OK\r\nContent-Length: 14")
    #expect(answer.body == "GET /cgi/a   -")
  }

  @Test func aBodyMayArriveInPieces() throws {
    let answer = try answer(
      [("REQUEST_METHOD", "POST"), ("SCRIPT_NAME", "/"), ("CONTENT_LENGTH", "9")],
      ["abc", "def", "ghi"])
    #expect(answer.body == "POST /  abcdefghi -")
  }

  @Test func moreThanTheLengthIsNotRead() throws {
    let answer = try answer(
      [("REQUEST_METHOD", "POST"), ("SCRIPT_NAME", "/"), ("CONTENT_LENGTH", "2")], ["abc"])
    #expect(answer.body == "POST /  ab -")
  }

  @Test(arguments: [("4", "bodyIncomplete"), ("x", "bodyIncomplete"), ("1001", "bodyTooLarge")])
  func aBodyThatIsNotAsAnnouncedIsADefect(length: String, defect: String) throws {
    let answer = try answer(
      [("REQUEST_METHOD", "POST"), ("SCRIPT_NAME", "/"), ("CONTENT_LENGTH", length)], ["abc"])
    #expect(answer.body == "POST /   \(defect)")
  }

  @Test(arguments: [(999, "-"), (1000, "-"), (1001, "bodyTooLarge"), (50_000, "bodyTooLarge")])
  func aBodyInChunksIsReadToItsEnd(count: Int, defect: String) throws {
    let body = String(repeating: "x", count: count)
    let answer = try answer(
      [("REQUEST_METHOD", "POST"), ("SCRIPT_NAME", "/"), ("HTTP_TRANSFER_ENCODING", "chunked")],
      [String(body.prefix(7)), String(body.dropFirst(7))])
    #expect(answer.body == "POST /  \(defect == "-" ? body : "") \(defect)")
  }

  /// The standard input of a CGI program need not end (RFC 3875 §4.2).
  @Test func withoutALengthAndChunksNothingIsRead() throws {
    let answer = try answer([("REQUEST_METHOD", "POST"), ("SCRIPT_NAME", "/")], ["abc"])
    #expect(answer.body == "POST /   -")
  }

  /// A socket reports an error instead of the end if it is closed with unread bytes: Apache then
  /// loses the response.
  @Test func refusedContentIsReadToItsEnd() throws {
    signal(SIGPIPE, SIG_IGN)
    var ends: [CInt] = [-1, -1]
    try #require(socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0, &ends) == 0)
    let (program, server) = (ends[0], FileHandle(fileDescriptor: ends[1], closeOnDealloc: true))
    var environment = Parameters()
    for (name, value) in [
      ("REQUEST_METHOD", "POST"), ("SCRIPT_NAME", "/"), ("CONTENT_LENGTH", "100000"),
    ] {
      environment.append(name, value)
    }
    let sent = DispatchGroup()
    DispatchQueue.global().async(group: sent) {
      for _ in 0..<10 {
        try? server.write(contentsOf: Data(count: 10_000))
        usleep(10_000)  // so that the program mostly waits for the next piece
      }
      shutdown(server.fileDescriptor, CInt(SHUT_WR))
    }
    try respond(
      to: environment, input: program, output: program, bodyLimit: 1000, restLimit: .never, describe
    )
    close(program)
    sent.wait()
    let answer = Answer(Array(try server.readToEnd() ?? Data()))
    #expect(answer.body == "POST /   bodyTooLarge")
  }

  @Test func withoutLengthAndChunksNothingIsRead() throws {
    let answer = try answer([("REQUEST_METHOD", "POST"), ("SCRIPT_NAME", "/")], ["abc"])
    #expect(answer.body == "POST /   -")
  }

  @Test func thePathIsThatOfTheTarget() throws {
    let answer = try answer([
      ("REQUEST_METHOD", "GET"), ("SCRIPT_NAME", "/cgi-bin/program"), ("PATH_INFO", ""),
      ("REQUEST_URI", "/a%20b/c?d"), ("QUERY_STRING", "d"),
    ])
    #expect(answer.body == "GET /a b/c d  -")
  }

  @Test func withoutAMethodThereIsNoRequest() {
    #expect(throws: FastCGIError("getenv", EINVAL)) { try answer([("SCRIPT_NAME", "/")]) }
  }
}

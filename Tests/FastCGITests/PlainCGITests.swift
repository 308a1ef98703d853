import Foundation
import HTTP
import Testing

@testable import FastCGI

/// The server as a plain CGI program.
@Suite struct PlainCGITests {
  /// What is answered when `pieces` arrive on standard input, one after the other.
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

  @Test func withoutAMethodThereIsNoRequest() {
    #expect(throws: FastCGIError("getenv", EINVAL)) { try answer([("SCRIPT_NAME", "/")]) }
  }
}

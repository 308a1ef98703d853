import Base
import StoreCore

@testable import AgentRelay
@testable import HTTP

extension FuzzTarget {
  static let ofRelay = [
    FuzzTarget("relay-request", atMost: 4096, testRelayRequest),
    FuzzTarget("relay-answer", atMost: 4096, testRelayAnswer),
  ]

  private static let headEnd = Array("\r\n\r\n".utf8)
  private static let closing = Array("\r\nConnection: close\r\n".utf8)

  /// A head with one empty line, as the relay finds it.
  private static func head(in input: [UInt8]) -> [UInt8] {
    let end = input.firstRange(of: headEnd)?.lowerBound ?? input.endIndex
    return input[..<end] + headEnd
  }

  /// The agent gets nothing that the relay would withhold, and no second request.
  private static func testRelayRequest(_ input: [UInt8]) {
    let received = head(in: input)
    guard let head = try? RelayHead(received) else { return }
    require(head.bytes.ranges(of: headEnd).map(\.upperBound) == [head.bytes.count], "two heads")
    let admitted = Array("\r\n\(AgentClient.fieldName): \(head.client.text)".utf8)
    let again = try? RelayHead(head.bytes.dropLast(4) + admitted + headEnd)
    // The agent closes the connection after some requests, which depends on fields that it does not get.
    require(
      again.map { $0.bytes.without(closing) } == head.bytes.without(closing),
      "the relay would withhold more of \(head.bytes.text)")
    let names = RelayField.lines(of: head.bytes).compactMap { RelayField($0)?.name }
    require(secret.isDisjoint(with: names), "the agent gets a secret: \(head.bytes.text)")
    let target = Array(head.bytes.split(separator: UInt8(ascii: " "))[1])
    require(
      !target.withUnsafeBufferPointer { Request.isAmbiguous(target: $0) },
      "the target \(target.text) can be read in two ways")
  }

  /// Fields with credentials, or with a URL that may hold one.
  private static let secret: Set<String> = [
    "authorization", "proxy-authorization", "cookie", "x-device-credential", "x-api-key", "referer",
  ]

  private static let request = try! RelayHead(
    Array("GET /api/file HTTP/1.1\r\n\(AgentClient.fieldName): anyone\r\n\r\n".utf8))
  private static let upgrade = try! RelayHead(
    Array("GET /ws HTTP/1.1\r\nUpgrade: websocket\r\n\(AgentClient.fieldName): anyone\r\n\r\n".utf8)
  )

  /// The first byte is the size of the pieces in which the others arrive, and the kind of request.
  private static func testRelayAnswer(_ input: [UInt8]) {
    guard let first = input.first else { return }
    let bytes = Array(input.dropFirst())
    let request = first < 0x80 ? request : upgrade
    let whole = answer(to: request, [bytes])
    let parts = answer(to: request, bytes.pieces(of: max(1, Int(first & 0x7F))))
    require(whole == parts, "the pieces decide: \(whole as Any), \(parts as Any)")
    guard let passed = whole?.passed, let end = passed.firstRange(of: headEnd) else { return }
    let lines = RelayField.lines(of: Array(passed[..<end.upperBound])).dropFirst()
    require(
      !lines.contains { line in RelayField(line).map { obeyed.contains($0.name) } ?? true },
      "the web server would obey \(passed.text)")
  }

  /// Fields that a web server or a browser obeys for the whole site.
  private static let obeyed: Set<String> = [
    "x-accel-redirect", "x-sendfile", "status", "location", "set-cookie", "refresh",
  ]

  private struct Passed: Equatable {
    var passed: [UInt8] = []
    var isComplete = false
  }

  /// - Returns: nil for a malformed answer.
  private static func answer(to request: RelayHead, _ pieces: [[UInt8]]) -> Passed? {
    var answer = AgentAnswer(to: request)
    var result = Passed()
    do {
      for piece in pieces { result.passed += try answer.take(piece) }
    } catch {
      return nil
    }
    result.isComplete = answer.isComplete
    return result
  }
}

extension [UInt8] {
  /// Without the first occurrence of the line `line`, which begins and ends with CRLF.
  fileprivate func without(_ line: [UInt8]) -> [UInt8] {
    guard let range = firstRange(of: line) else { return self }
    return Array(self[..<range.lowerBound]) + self[(range.upperBound - 2)...]
  }
}

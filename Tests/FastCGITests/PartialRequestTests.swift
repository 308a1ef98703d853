import Foundation
import Testing

@testable import FastCGI

/// Requests that arrive slowly.
@Suite struct PartialRequestTests {
  /// Both parts of a request, cut `offset` bytes before its end.
  private func halves(_ body: String, at offset: Int) -> (first: [UInt8], second: [UInt8]) {
    let bytes = requestBytes("POST", "/slow", body: Array(body.utf8), keep: true)
    return (Array(bytes.dropLast(offset)), Array(bytes.suffix(offset)))
  }

  /// The cut is in the record of the parameters, of the body, or of the body's end.
  @Test(arguments: [1, 9, 20, 40])
  func moreSlowRequestsThanWorkersStopNobody(offset: Int) throws {
    try withServer(workers: 2) { server in
      let slow = try (0..<24).map { index in
        let connection = try server.connect()
        try connection.send(halves("body \(index)", at: offset).first)
        return connection
      }
      for _ in 0..<3 { #expect(try server.answer().body == "GET /   -") }
      for (index, connection) in slow.enumerated() {
        let rest = halves("body \(index)", at: offset).second
        #expect(try connection.answer(to: rest).body == "POST /slow  body \(index) -")
        #expect(try connection.answer(to: requestBytes(keep: true)).body == "GET /   -")
      }
    }
  }

  private func state(after bytes: [UInt8]) -> RecordScan.State {
    var partial = PartialRequest(bodyLimit: 10)
    bytes.withUnsafeBytes { partial.append($0) }
    return partial.state
  }

  /// FastCGI specification §3.3: `version` is 1 in each record.
  @Test func aRecordOfAnotherVersionIsMalformed() {
    let whole = requestBytes(keep: true)
    #expect(state(after: whole) == .complete)
    #expect(state(after: [2] + whole.dropFirst()) == .malformed)
    let begin = beginRecord(keep: true)
    #expect(state(after: begin + [0] + record(.params).dropFirst()) == .malformed)
  }

  /// libfcgi would read the padding of the first record as a record of its own, and lose memory.
  @Test func aFirstRecordWithPaddingIsMalformed() {
    var padded = beginRecord(keep: true) + [UInt8](repeating: 0, count: 8)
    padded[6] = 8
    #expect(state(after: padded) == .malformed)
  }

  /// libfcgi would read the padding as a record of its own.
  @Test func anEmptyRecordWithPaddingIsMalformed() {
    let begin = beginRecord(keep: true)
    #expect(state(after: begin + record(.params, padding: 4) + record(.stdin)) == .malformed)
    #expect(state(after: begin + record(.params) + record(.stdin, padding: 4)) == .malformed)
  }

  @Test(arguments: [(0, false), (1, true)])
  func parametersHaveALimitOf128KiB(more: Int, isMalformed: Bool) {
    let octets = [UInt8](repeating: 0, count: 1 << 15)
    let parameters =
      (0..<4).flatMap { _ in record(.params, octets) } + (more == 0 ? [] : record(.params, [0]))
    #expect(
      state(after: beginRecord(keep: true) + parameters) == (isMalformed ? .malformed : .incomplete)
    )
  }

  /// The second pair of lengths has a sum that overflows a C `int`.
  @Test(
    arguments: [
      [5, 0, 65],
      [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff] + [UInt8](repeating: 65, count: 99),
      [0x80, 0, 0, 1, 0], [1], [0x80, 0],
    ] as [[UInt8]])
  func aParameterThatIsLongerThanItsStreamIsMalformed(_ content: [UInt8]) {
    let begin = beginRecord(keep: true)
    let whole = pair("A", String(repeating: "b", count: 300))
    #expect(state(after: begin + stream(.params, whole, 7) + record(.stdin)) == .complete)
    for recordSize in [1, 7, 1000] {
      let parameters = stream(.params, whole + content, recordSize)
      #expect(state(after: begin + parameters) == .malformed)
    }
  }

  @Test func aBodyMayArriveOctetByOctet() throws {
    try withServer(workers: 1) { server in
      let body = String(repeating: "0123456789", count: 90)
      let bytes = requestBytes("POST", "/", body: Array(body.utf8), keep: true, recordSize: 1)
      let connection = try server.connect()
      for octet in bytes { try connection.send([octet]) }
      #expect(try connection.answer().body == "POST /  \(body) -")
    }
  }

  /// The server forgets the records over the limit, but must not read them twice.
  @Test func aBodyOverTheLimitMayArriveInTwoPieces() throws {
    try withServer(bodyLimit: 10) { server in
      let bytes = requestBytes(
        "POST", "/", body: [UInt8](repeating: 65, count: 100), keep: true, recordSize: 6)
      let connection = try server.connect()
      try connection.send(Array(bytes.dropLast(10)))
      while server.server.partialRequests.withLock({ $0.isEmpty }) { sched_yield() }
      #expect(try connection.answer(to: Array(bytes.suffix(10))).body == "POST /   bodyTooLarge")
    }
  }

  @Test func aRequestThatDoesNotArriveInTimeIsDropped() throws {
    try withServer(requestTimeLimit: .milliseconds(20)) { server in
      let half = try server.connect()
      try half.send(halves("body", at: 9).first)
      try half.waitForClose()
      while !server.server.partialRequests.withLock({ $0.isEmpty }) { sched_yield() }
      #expect(try server.answer().body == "GET /   -")
    }
  }

  @Test func aConnectionWithoutARequestIsKept() throws {
    try withServer(requestTimeLimit: .milliseconds(20)) { server in
      let idle = try server.connect()
      _ = try idle.answer(to: requestBytes(keep: true))
      let half = try server.connect()
      try half.send(Array(requestBytes().prefix(40)))
      try half.waitForClose()
      #expect(try idle.answer(to: requestBytes(keep: true)).body == "GET /   -")
    }
  }

  @Test func ofTooManyThatArriveInPartTheOldestGoes() throws {
    let running = try RunningServer(on: Endpoint(), workers: 1, partialRequestLimit: 8) {
      request, _ in describe(request)
    }
    defer {
      running.server.drain()
      running.waitForEnd()
    }
    var slow: [Connection] = []
    for index in 0..<20 {
      let connection = try running.connect()
      try connection.send(halves("body", at: 9).first)
      slow.append(connection)
      if index >= 8 { try slow[index - 8].waitForClose() }
      while running.server.partialRequests.withLock({ $0.count }) < min(index + 1, 8) {
        sched_yield()
      }
    }
    for connection in slow.suffix(8) {
      #expect(try connection.answer(to: halves("body", at: 9).second).body == "POST /slow  body -")
    }
  }

  /// A stranger chooses the body, and so the octets after the part that has been read.
  @Test func theRestOfARefusedRequestIsNotARequest() throws {
    let (gate, arrived) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let paths = Locked<[String]>([])
    let running = try RunningServer(on: Endpoint(), workers: 1, partialRequestLimit: 1) {
      request, _ in
      paths.update { $0.append(request.path) }
      arrived.signal()
      gate.wait()
      return describe(request)
    }
    do {
      let first = try running.connect()
      try first.send(halves("body", at: 9).first)
      while running.server.partialRequests.withLock({ $0.isEmpty }) { sched_yield() }
      let busy = try running.connect()
      try busy.send(requestBytes("GET", "/busy"))
      arrived.wait()
      let second = try running.connect()
      try second.send(halves("body", at: 9).first)
      try first.send(requestBytes("GET", "/evil"))
      for _ in 0..<3 { gate.signal() }
      try first.waitForClose()
      #expect(try second.answer(to: halves("body", at: 9).second).body == "POST /slow  body -")
      #expect(paths.get() == ["/busy", "/slow"])
    }
    running.server.drain()
    running.waitForEnd()
  }
}

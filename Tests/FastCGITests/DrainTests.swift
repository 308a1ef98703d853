import Foundation
import HTTP
import Testing

@testable import FastCGI

/// The end of a server.
@Suite struct DrainTests {
  @Test func aRequestInFlightIsAnsweredBeforeTheEnd() throws {
    let (gate, arrived) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let running = try RunningServer(on: Endpoint()) { request, _ in
      arrived.signal()
      gate.wait()
      return describe(request)
    }
    let connection = try running.connect()
    try connection.send(requestBytes())
    arrived.wait()
    running.terminate()
    running.waitForPhase(.draining)
    gate.signal()
    #expect(try connection.answer().body == "GET /   -")
    running.waitForEnd()
  }

  @Test func aKeptConnectionIsServedWhileDraining() throws {
    let running = try RunningServer(on: Endpoint()) { request, _ in describe(request) }
    do {
      let connection = try running.connect()
      _ = try connection.answer(to: requestBytes(keep: true))
      running.terminate()
      running.waitForPhase(.draining)
      #expect(try connection.answer(to: requestBytes(keep: true)).body == "GET /   -")
    }
    running.waitForEnd()
  }

  @Test func aNewConnectionIsLeftToTheSuccessor() throws {
    let endpoint = try Endpoint()
    let first = try RunningServer(on: endpoint) { _, _ in Response(status: 201) }
    #expect(try first.answer().head.hasPrefix("Status: 201"))
    first.terminate()
    first.waitForEnd()
    let connection = try first.connect()
    try connection.send(requestBytes())
    let second = try RunningServer(on: endpoint) { _, _ in Response(status: 202) }
    #expect(try connection.answer().head.hasPrefix("Status: 202"))
    second.server.drain()
    second.waitForEnd()
  }

  @Test func aConnectionThatIsNeverIdleIsClosedAfterAnAnswer() throws {
    let running = try RunningServer(on: Endpoint(), drainDelays: .closingSoon) { request, _ in
      describe(request)
    }
    let connection = try running.connect()
    _ = try connection.answer(to: requestBytes(keep: true))
    running.terminate()
    running.waitForPhase(.draining)
    while running.server.phase == .draining {
      #expect(try connection.answer(to: requestBytes(keep: true)).body == "GET /   -")
    }
    // The server closed the connection after the last of these answers, or closes it after this
    // one.
    if (try? connection.send(requestBytes(keep: true))) != nil { _ = try? connection.answer() }
    try connection.waitForClose()
    running.waitForEnd()
  }

  /// Nobody would be served until it arrives.
  @Test func aRequestThatDoesNotArriveIsCutBeforeTheEnd() throws {
    let (gate, arrived) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let running = try RunningServer(on: Endpoint(), drainDelays: .closingSoon) { request, _ in
      arrived.signal()
      gate.wait()
      return describe(request)
    }
    let (slow, answered) = (try running.connect(), try running.connect())
    let bytes = requestBytes()
    try slow.send(Array(bytes.prefix(bytes.count / 2)))
    try answered.send(bytes)
    arrived.wait()
    running.terminate()
    try slow.waitForClose()
    #expect(running.server.phase == .closing)
    gate.signal()
    running.waitForEnd()
  }

  @Test func aSecondSignalEndsAtOnce() throws {
    let (gate, arrived) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let running = try RunningServer(on: Endpoint(), drainDelays: .endingSoon) { request, _ in
      arrived.signal()
      gate.wait()
      return describe(request)
    }
    let connection = try running.connect()
    try connection.send(requestBytes())
    arrived.wait()
    running.terminate()
    running.waitForPhase(.draining)
    running.terminate()
    // Without the second signal, the server drains until its last connection ends.
    while running.server.phase == .draining { sched_yield() }
    #expect(running.server.phase == .stopped)
    running.waitForEnd()
    gate.signal()
  }

  /// Like nginx, a client sends several requests on a connection, and then uses another connection.
  @Test func noRequestIsLostWhenServersTakeTurnsUnderLoad() throws {
    let endpoint = try Endpoint()
    let handler: RunningServer.Handler = { request, _ in describe(request) }
    var running = try RunningServer(on: endpoint, handler)
    let isOver = Locked(false)
    let answered = Locked(0)
    let clients = DispatchSemaphore(value: 0)
    Thread {
      concurrently(4) { client in
        while !isOver.get() {
          let connection = try Connection(to: endpoint.path)
          for index in 0..<20 {
            let body = Array("\(client)-\(index)".utf8)
            let bytes = requestBytes("POST", "/", body: body, keep: index.isMultiple(of: 2))
            #expect(try connection.answer(to: bytes).body == "POST /  \(client)-\(index) -")
            answered.update { $0 += 1 }
            if !index.isMultiple(of: 2) { break }
          }
        }
      }
      clients.signal()
    }.start()
    for _ in 0..<5 {
      let before = answered.get()
      while answered.get() < before + 200 { sched_yield() }
      running.server.drain()
      running.waitForEnd()
      running = try RunningServer(on: endpoint, handler)
    }
    isOver.set(true)
    clients.wait()
    running.server.drain()
    running.waitForEnd()
  }
}

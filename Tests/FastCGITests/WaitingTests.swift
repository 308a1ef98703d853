import Foundation
import HTTP
import Testing

@testable import FastCGI

/// Handlers that wait.
@Suite struct WaitingTests {
  /// Answers `/wait` when `gate` opens, with 503 if it may not wait, and other requests at once.
  private static func handler(
    _ gate: DispatchSemaphore, _ arrived: DispatchSemaphore
  ) -> RunningServer.Handler {
    { request, server in
      guard request.path == "/wait" else { return describe(request) }
      guard server.beginWaiting() else { return Response(status: 503) }
      arrived.signal()
      gate.wait()
      return Response(status: 200)
    }
  }

  @Test func waitingRequestsLeaveTheWorkersFreeUpToACap() throws {
    let (gate, arrived) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    try withServer(workers: 1, waiters: 2, handler: Self.handler(gate, arrived)) { server in
      let waiting = try (0..<2).map { _ in
        let connection = try server.connect()
        try connection.send(requestBytes("GET", "/wait", keep: true))
        arrived.wait()
        return connection
      }
      #expect(try server.answer().body == "GET /   -")
      #expect(try server.answer(requestBytes("GET", "/wait")).head.hasPrefix("Status: 503"))
      for _ in waiting { gate.signal() }
      for connection in waiting { #expect(try connection.answer().head.hasPrefix("Status: 200")) }
    }
  }

  @Test func aSlotIsFreeAgainWhenTheRequestIsOver() throws {
    let (gate, arrived) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    try withServer(workers: 1, waiters: 1, handler: Self.handler(gate, arrived)) { server in
      for _ in 0..<50 {
        let connection = try server.connect()
        try connection.send(requestBytes("GET", "/wait"))
        arrived.wait()
        gate.signal()
        #expect(try connection.answer().head.hasPrefix("Status: 200"))
        waitForSlot(server)
      }
    }
  }

  /// Waits for a free slot, because a thread frees its slot shortly after its answer.
  private func waitForSlot(_ server: RunningServer) {
    while !server.server.waiterSlots.tryToTake() { sched_yield() }
    server.server.waiterSlots.give()
  }

  @Test func afterWaitingNoMoreThanTheWorkersRun() throws {
    let (running, most) = (Locked(0), Locked(0))
    try withServer(
      workers: 2, waiters: 4,
      handler: { request, server in
        if request.path == "/wait" { return Response(status: server.beginWaiting() ? 200 : 503) }
        running.update { count in
          count += 1
          most.update { $0 = max($0, count) }
        }
        for _ in 0..<100 { sched_yield() }
        running.update { $0 -= 1 }
        return Response(status: 200)
      },
      { server in
        concurrently(8) { _ in
          let connection = try server.connect()
          for index in 0..<100 {
            let path = index.isMultiple(of: 3) ? "/wait" : "/"
            _ = try connection.answer(to: requestBytes("GET", path, keep: true))
          }
        }
        #expect(most.get() == 2)
      })
  }

  @Test func beginningToWaitTwiceInARequestTakesOneSlot() throws {
    try withServer(
      workers: 1, waiters: 1,
      handler: { _, server in
        Response(status: server.beginWaiting() && server.beginWaiting() ? 200 : 503)
      },
      { server in
        let answer = try server.answer()
        #expect(answer.head.hasPrefix("Status: 200"))
      })
  }

  @Test func withoutWaitersNobodyMayWait() throws {
    try withServer(
      handler: { _, server in Response(status: server.beginWaiting() ? 200 : 503) },
      { server in
        let answer = try server.answer()
        #expect(answer.head.hasPrefix("Status: 503"))
      })
  }

  @Test func offTheServersThreadsWaitingIsFree() throws {
    try withServer { server in #expect(server.server.beginWaiting()) }
  }
}

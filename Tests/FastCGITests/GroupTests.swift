import Foundation
import HTTP
import Synchronization
import Testing

@testable import FastCGI

/// Requests of one group, answered together.
@Suite struct GroupTests {
  /// The numbers of requests in each call of the handler.
  private let sizes = Locked<[Int]>([])
  /// Opened once for each call with a request for `/read` or `/hold`.
  private let gate = DispatchSemaphore(value: 0)
  private let arrived = DispatchSemaphore(value: 0)

  /// Calls `body` with a server, by default of one worker. Its handler waits at the gate with each call for `/read` and `/hold`.
  private func withGroups(
    workers: Int = 1, waiters: Int = 0, waits: Bool = false, _ body: (RunningServer) throws -> Void
  ) throws {
    let (sizes, gate, arrived) = (sizes, gate, arrived)
    let running = try RunningServer(on: Endpoint(), workers: workers, waiters: waiters) { server in
      @Sendable func answers(_ requests: [Request]) -> [Response] {
        sizes.update { $0.append(requests.count) }
        let path = requests[0].path
        if path == "/read" || path == "/hold" {
          arrived.signal()
          if waits, path == "/read", !server.beginWaiting() {
            return requests.map { _ in Response(status: 503) }
          }
          gate.wait()
        }
        return requests.map(describe)
      }
      return Handler(
        group: { $0.path == "/read" ? "reads" : nil }, respondTogether: answers,
        respond: { answers([$0])[0] })
    }
    defer {
      running.server.drain()
      running.waitForEnd()
    }
    try body(running)
  }

  /// Sends a request for each target on a connection of its own.
  private func send(_ targets: [String], to running: RunningServer) throws -> [Connection] {
    try targets.map { target in
      let connection = try running.connect()
      try connection.send(requestBytes("GET", target))
      return connection
    }
  }

  private func expectOwnAnswers(_ connections: [Connection], to targets: [String]) throws {
    for (connection, target) in zip(connections, targets) {
      let parts = target.split(separator: "?")
      let query = parts.count > 1 ? String(parts[1]) : ""
      #expect(try connection.answer().body == "GET \(parts[0]) \(query)  -")
    }
  }

  @Test func requestsThatArriveDuringAnAnswerAreAnsweredTogether() throws {
    try withGroups { running in
      let first = try send(["/read?first"], to: running)
      arrived.wait()
      let targets = (0..<5).map { "/read?\($0)" }
      let others = try send(targets, to: running)
      gate.signal()
      try expectOwnAnswers(first, to: ["/read?first"])
      gate.signal()
      try expectOwnAnswers(others, to: targets)
      #expect(sizes.get() == [1, 5])
    }
  }

  @Test func aLoneRequestIsAnsweredAtOnce() throws {
    try withGroups { running in
      gate.signal()
      let answer = try running.answer(requestBytes("GET", "/read"))
      #expect(answer.body == "GET /read   -")
      #expect(sizes.get() == [1])
    }
  }

  @Test func requestsOfNoGroupAreAnsweredAlone() throws {
    try withGroups { running in
      let first = try send(["/read"], to: running)
      arrived.wait()
      let targets = ["/read?1", "/other?2", "/read?3", "/other?4", "/read?5"]
      let others = try send(targets, to: running)
      for _ in 0..<4 { gate.signal() }
      try expectOwnAnswers(first + others, to: ["/read"] + targets)
      #expect(sizes.get().reduce(0, +) == 6)
    }
  }

  @Test func aGroupHasAtMost32Requests() throws {
    try withGroups { running in
      let first = try send(["/read"], to: running)
      arrived.wait()
      let targets = (0..<70).map { "/read?\($0)" }
      let others = try send(targets, to: running)
      for _ in 0..<4 { gate.signal() }
      try expectOwnAnswers(first + others, to: ["/read"] + targets)
      #expect(sizes.get() == [1, 32, 32, 6])
    }
  }

  @Test func aGroupThatWaitsLetsAnotherWorkerServe() throws {
    try withGroups(waiters: 1, waits: true) { running in
      let first = try send(["/read"], to: running)
      arrived.wait()
      #expect(try running.answer(requestBytes("GET", "/other")).body == "GET /other   -")
      gate.signal()
      try expectOwnAnswers(first, to: ["/read"])
    }
  }

  /// Without a permit, other workers poll only after a pause. Only polls with a permit are counted.
  @Test func aWorkerThatAnswersOrWaitsReturnsItsPermitToPoll() throws {
    try withGroups(waiters: 1, waits: true) { running in
      #expect(try running.answer(requestBytes("GET", "/other")).body == "GET /other   -")
      let first = try send(["/read"], to: running)
      arrived.wait()
      let polls = running.server.polls.load(ordering: .relaxed)
      #expect(try running.answer(requestBytes("GET", "/other")).body == "GET /other   -")
      #expect(running.server.polls.load(ordering: .relaxed) > polls)
      gate.signal()
      try expectOwnAnswers(first, to: ["/read"])
    }
  }

  @Test func aRequestThatArrivedAmongAWaitingGroupIsAnsweredAfterIt() throws {
    try withGroups(waiters: 1, waits: true) { running in
      let first = try send(["/hold"], to: running)
      arrived.wait()
      let others = try send(["/read", "/other"], to: running)
      gate.signal()
      arrived.wait()
      gate.signal()
      try expectOwnAnswers(first + others, to: ["/hold", "/read", "/other"])
    }
  }

  @Test func aGroupThatHangsKeepsNoOtherWorkerFromServing() throws {
    try withGroups(workers: 2) { running in
      let first = try send(["/read"], to: running)
      arrived.wait()
      for _ in 0..<3 {
        #expect(try running.answer(requestBytes("GET", "/other")).body == "GET /other   -")
      }
      gate.signal()
      try expectOwnAnswers(first, to: ["/read"])
    }
  }

  @Test func aClientThatIsGoneCostsNoOtherItsAnswer() throws {
    try withGroups { running in
      let first = try send(["/read"], to: running)
      arrived.wait()
      var others = try send(["/read?1", "/read?2", "/read?3"], to: running)
      others.remove(at: 1)
      gate.signal()
      gate.signal()
      try expectOwnAnswers(first + others, to: ["/read", "/read?1", "/read?3"])
    }
  }
}

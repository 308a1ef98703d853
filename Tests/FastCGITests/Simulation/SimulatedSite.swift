import Foundation
import HTTP
import Support

@testable import FastCGI

/// The server of a history and its handler. If the server ends, another one takes its place on the same socket.
final class SimulatedSite: Sendable {
  /// A request, as the handler should see it.
  private struct Expectation {
    let request: SimulatedRequest
    var isSent = false
    var isHandled = false
  }

  private struct Knowledge {
    var requests: [Int: Expectation] = [:]
    /// Requests whose handler runs and does not wait.
    var running = 0
    var meeting = 0
    var holding = 0
    var problem: String?
  }

  let endpoint: Endpoint
  let workers: Int
  let waiters: Int
  let partialRequestLimit: Int
  /// Whether requests have only a few milliseconds to arrive.
  let isImpatient: Bool
  var requestTimeLimit: Duration { isImpatient ? .milliseconds(4) : .never }
  private let knowledge = Locked(Knowledge())
  private let gate = DispatchSemaphore(value: 0)
  private let met = DispatchSemaphore(value: 0)
  private let release = DispatchSemaphore(value: 0)

  init(_ chance: inout SeededGenerator) throws {
    endpoint = try Endpoint()
    workers = .random(in: 1...3, using: &chance)
    waiters = .random(in: 0...2, using: &chance)
    partialRequestLimit = [1, 2, 512, 512, 512].randomElement(using: &chance)!
    isImpatient = Int.random(in: 0..<16, using: &chance) == 0
  }

  func start() throws -> RunningServer {
    try RunningServer(
      on: endpoint, workers: workers, waiters: waiters, bodyLimit: SimulatedRequest.bodyLimit,
      requestTimeLimit: requestTimeLimit,
      partialRequestLimit: partialRequestLimit
    ) { [self] server in
      Handler(
        group: { [self] in group(of: $0) },
        respondTogether: { [self] in $0.map { answer($0, of: server) } },
        respond: { [self] in answer($0, of: server) })
    }
  }

  /// Every second request that does not wait may be answered together with others.
  private func group(of request: Request) -> String? {
    let number = number(of: request)
    guard number.isMultiple(of: 2), knowledge.get().requests[number]?.request.isWait == false
    else { return nil }
    return "even"
  }

  var problem: String? { knowledge.get().problem }

  func expect(_ request: SimulatedRequest) {
    knowledge.update { $0.requests[request.number] = Expectation(request: request) }
  }

  /// Notes that the last octets of a request are about to be sent.
  func noteSent(_ request: SimulatedRequest) {
    knowledge.update { $0.requests[request.number]!.isSent = true }
  }

  func isHandled(_ request: SimulatedRequest) -> Bool {
    knowledge.get().requests[request.number]!.isHandled
  }

  /// Lets one waiting handler go on, or the next one that waits.
  func openGate() { gate.signal() }

  private func answer(_ request: Request, of server: Server) -> Response {
    begin()
    if request.path == "/meet" { return meet() }
    if request.path == "/hold" { return hold(server) }
    let expected = identify(request)
    for _ in 0..<3 { sched_yield() }  // so that handlers run at once
    let response = end(expected?.answer ?? Response(status: 500))
    guard expected?.isWait == true else { return response }
    guard server.beginWaiting(), server.beginWaiting() else { return SimulatedRequest.mayNotWait }
    gate.wait()
    return response
  }

  private func begin() {
    knowledge.update { known in
      known.running += 1
      if known.running > workers { known.problem = "\(known.running) workers run" }
    }
  }

  private func end(_ response: Response) -> Response {
    knowledge.update { $0.running -= 1 }
    return response
  }

  private func number(of request: Request) -> Int {
    request.field("Number").flatMap { Int($0) } ?? -1
  }

  private func identify(_ request: Request) -> SimulatedRequest? {
    let number = number(of: request)
    var found: Expectation?
    knowledge.update { known in
      found = known.requests[number]
      known.requests[number]?.isHandled = true
    }
    let problem =
      switch found {
      case nil: "an unknown request is handled"
      case let it? where it.isHandled: "it is handled twice"
      case let it? where !it.isSent: "it is handled before its end"
      case let it?: it.request.difference(to: request)
      }
    if let problem { knowledge.update { $0.problem = "request \(number): \(problem)" } }
    return found?.request
  }

  /// How many requests wait in ``hold(_:)`` or have waited.
  var holding: Int { knowledge.get().holding }

  func releaseAll() { for _ in 0..<waiters { release.signal() } }

  /// Waits until ``releaseAll()``.
  private func hold(_ server: Server) -> Response {
    let response = end(Response(status: 200))
    guard server.beginWaiting() else { return SimulatedRequest.mayNotWait }
    knowledge.update { $0.holding += 1 }
    release.wait()
    return response
  }

  /// Waits until as many requests are here as there are workers.
  private func meet() -> Response {
    var isLast = false
    knowledge.update { known in
      known.meeting += 1
      isLast = known.meeting == workers
    }
    if isLast { for _ in 0..<workers { met.signal() } }
    met.wait()
    return end(Response(status: 200))
  }
}

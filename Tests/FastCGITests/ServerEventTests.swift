import Foundation
import Testing

@testable import FastCGI

/// A server's reports, which the program passes to systemd.
@Suite struct ServerEventTests {
  @Test func aServerReportsItsBeginningAndItsEnd() throws {
    let reports = Locked<[ServerEvent]>([])
    let running = try RunningServer(on: Endpoint(), reports: reports) { request, _ in
      describe(request)
    }
    _ = try running.answer()
    // A worker may answer before the server says that it is ready.
    while reports.get().isEmpty { sched_yield() }
    #expect(reports.get() == [.ready])
    running.server.drain()
    running.waitForEnd()
    #expect(reports.get() == [.ready, .stopping])
  }

  /// A watchdog must end only servers whose workers hang.
  @Test func aServerIsAliveOnlyWhileAWorkerIsFree() throws {
    let reports = Locked<[ServerEvent]>([])
    let (entered, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let running = try RunningServer(
      on: Endpoint(), workers: 2, aliveInterval: .milliseconds(1), reports: reports
    ) { request, _ in
      entered.signal()
      release.wait()
      return describe(request)
    }
    wait(for: reports)
    let connections = try (0..<2).map { _ in try running.connect() }
    for connection in connections { try connection.send(requestBytes()) }
    for _ in connections { entered.wait() }
    reports.set([])
    var aliveTimer = pollfd(
      fd: running.server.aliveTimer.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&aliveTimer, 1, -1) == 1)
    #expect(reports.get() == [], "nobody was free to report")
    for _ in connections { release.signal() }
    wait(for: reports)
    running.server.drain()
    running.waitForEnd()
  }

  private func wait(for reports: Locked<[ServerEvent]>) {
    while !reports.get().contains(.alive) { sched_yield() }
  }
}

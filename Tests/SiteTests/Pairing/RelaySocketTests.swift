import Foundation
import Support
import Testing

/// The relay's own socket, to which only the web server connects.
@Suite struct RelaySocketTests {
  /// More connections come than the relay may open descriptors. It must wait without using the
  /// processor, and serve when they have ended.
  @Test func aRelayWithFewDescriptorsWaitsForOne() async throws {
    try await withAgent { site, _ in
      let token = try site.pair().access
      let (keeper, old) = (site.keeper(of: "relay"), site.pid(of: "relay"))
      let limit = ["prlimit", "--nofile=120:120", "--pid", "\(try #require(keeper))"]
      #expect(Site.run(limit).status == 0)
      kill(try #require(old), SIGKILL)
      let bearer = ["--header", "Authorization: Bearer \(token)"]
      wait(for: "an answer of the agent") { site.curl("/api/file", bearer).status == 200 }
      let new = try #require(site.pid(of: "relay"))
      #expect(new != old)
      do {
        let wires = (0..<150).map { _ in Wire(unixSocket: site.socket("relay")) }
        try wait(for: "as many connections as the relay may have") { try openFiles(of: new) > 35 }
        let before = try processorTicks(of: new)
        usleep(1_000_000)  // A slow or stopped machine makes the result smaller, not larger.
        let used = try processorTicks(of: new) - before
        #expect(used < 50, "\(used) of 100 ticks: it tries again and again to accept one more")
        withExtendedLifetime(wires) {}
      }
      #expect(site.curl("/api/file", bearer).status == 200)
    }
  }

  private func openFiles(of process: pid_t) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
  }

  /// Ticks of 10 ms that the process has used.
  private func processorTicks(of process: pid_t) throws -> Int {
    let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
    return try #require(Int(fields[12])) + (try #require(Int(fields[13])))
  }
}

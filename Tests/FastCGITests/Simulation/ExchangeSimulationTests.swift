import Support
import Testing

@testable import FastCGI

/// Random histories of a web server and a FastCGI server.
@Suite struct ExchangeSimulationTests {
  /// In a process of its own, so that its descriptors are those of the history.
  @Test func eachRequestHasOneAnswerAndNothingIsLost() async {
    await #expect(processExitsWith: .success) {
      let most = openDescriptors().count + 2  // the libraries keep a few for themselves
      var first: String?
      let problems = try simulate(1_000) { seed in
        if first != nil { return nil }  // a broken server may disturb the next ones
        first = try ExchangeHistory(seed: seed).play()
        wait(for: "seed \(seed): the end of \(openDescriptors().count - most) descriptors") {
          first != nil || openDescriptors().count <= most
        }
        return first
      }
      // The other process learns no value of an expression.
      for problem in problems { Issue.record(Comment(rawValue: problem)) }
    }
  }
}

import Foundation
import Support
import Testing

@Suite struct WaitingTests {
  /// In the process that a test below starts.
  private static let isWaitingInVain =
    ProcessInfo.processInfo.environment["SWITCHBOARD_WAITS_IN_VAIN"] != nil

  @Test func aWaitEndsWithItsEvent() {
    var looks = 0
    wait(for: "the third look") {
      looks += 1
      return looks == 3
    }
    #expect(looks == 3)
  }

  @Test func theLimitEndsTheProcessAndSaysWhatEachTestWaitsFor() {
    let tests = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path()
    let outcome = runProgram(
      "env",
      [
        "SWITCHBOARD_WAITS_IN_VAIN=1", "SWITCHBOARD_TEST_LIMIT=1", tests, "--testing-library",
        "swift-testing", "--filter", "WaitingTests/(a|another)TestWaitsInVain",
      ])
    #expect(outcome.status == 1)
    for sentence in [
      /✘ aTestWaitsInVain\(\) \(\S+:\d+\) waits for a sign\n/,
      /✘ anotherTestWaitsInVain\(\) \(\S+:\d+\) waits for an answer\n/,
    ] {
      #expect(outcome.output.contains(sentence), "\(outcome.output.suffix(500))")
    }
  }

  @Test(.enabled(if: isWaitingInVain)) func aTestWaitsInVain() {
    wait(for: "a sign") { false }
  }

  @Test(.enabled(if: isWaitingInVain)) func anotherTestWaitsInVain() {
    waiting(for: "an answer") { DispatchSemaphore(value: 0).wait() }
  }

  // A process that is stopped or has no processor has no ticks.
  @Test func onlyTheTicksOfOneWaitCount() {
    var clock = WaitClock()
    let first = clock.begin("first")
    for _ in 0..<2 { clock.tick() }
    clock.end(first)
    _ = clock.begin("second")
    _ = clock.begin("third")
    for _ in 0..<2 { clock.tick() }
    #expect(clock.sentences(limit: 3).isEmpty)
    clock.tick()
    #expect(clock.sentences(limit: 3) == ["second", "third"])
  }

  @Test func aTestThatHangsWithoutAWaitIsFound() {
    var clock = WaitClock()
    clock.end(clock.begin("over"))
    for _ in 0..<3 { clock.tick() }
    #expect(clock.sentences(limit: 3) == ["a test that has not said what it waits for"])
  }

  @Test func aTestThatDoesSomethingMayTakeLong() {
    var clock = WaitClock()
    _ = clock.begin("whole test", isLimited: false)
    for _ in 0..<5 {
      for _ in 0..<2 { clock.tick() }
      clock.end(clock.begin("part"))
    }
    #expect(clock.sentences(limit: 3).isEmpty)
    for _ in 0..<3 { clock.tick() }
    #expect(clock.sentences(limit: 3) == ["whole test"])
  }
}

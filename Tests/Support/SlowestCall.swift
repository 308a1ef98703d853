import Foundation

/// The slowest of many calls, printed at the end of a long run. No input may take a tenth of a
/// second. Measures wall-clock time, which includes other work of the machine, and processor time.
package struct SlowestCall: ~Copyable {
  private let name: String
  private var slowest = Duration.zero
  private var slowestOfProcessor = Duration.zero
  private var count = 0

  package init(of name: String) {
    self.name = name
  }

  package mutating func time<T, E: Error>(_ call: () throws(E) -> T) throws(E) -> T {
    let (begin, beginOfProcessor) = (ContinuousClock.now, Self.timeOfProcessor())
    defer {
      slowestOfProcessor = max(slowestOfProcessor, Self.timeOfProcessor() - beginOfProcessor)
      slowest = max(slowest, ContinuousClock.now - begin)
      count += 1
    }
    return try call()
  }

  deinit {
    if count >= 1_000_000 {
      print(
        "\(name): the slowest of \(count) inputs took \(slowest), of the processor \(slowestOfProcessor)"
      )
    }
  }

  private static func timeOfProcessor() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

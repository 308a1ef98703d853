import Foundation

/// The slowest of many calls, in time of the processor, printed at the end of a long run: no input may take a tenth of a
/// second.
package struct SlowestCall: ~Copyable {
  private let name: String
  /// Nanoseconds.
  private var slowest: UInt64 = 0
  private var count = 0

  package init(of name: String) {
    self.name = name
  }

  package mutating func time<T, E: Error>(_ call: () throws(E) -> T) throws(E) -> T {
    let begin = Self.now()
    defer {
      slowest = max(slowest, Self.now() - begin)
      count += 1
    }
    return try call()
  }

  deinit {
    if count >= 1_000_000 {
      print("\(name): the slowest of \(count) inputs took \(slowest / 1000) us")
    }
  }

  private static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

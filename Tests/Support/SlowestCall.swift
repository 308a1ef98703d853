/// The slowest of many calls, printed at the end of a long run: what counts is that no input takes a tenth of a
/// second, but a busy machine may stop for as long, so nothing fails by it.
package struct SlowestCall: ~Copyable {
  private let name: String
  private var slowest = Duration.zero
  private var count = 0

  package init(of name: String) {
    self.name = name
  }

  package mutating func time<T, E: Error>(_ call: () throws(E) -> T) throws(E) -> T {
    let begin = ContinuousClock.now
    defer {
      slowest = max(slowest, ContinuousClock.now - begin)
      count += 1
    }
    return try call()
  }

  deinit {
    if count >= 1_000_000 { print("\(name): the slowest of \(count) inputs took \(slowest)") }
  }
}

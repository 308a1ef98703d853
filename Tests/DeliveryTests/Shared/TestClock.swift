import Delivery
import Synchronization

/// A clock for limits of time that does not follow the real time: it moves only when the test moves it.
///
/// Each look at it is a nanosecond later than the last look, so that no two events have the same time.
final class TestClock: Sendable {
  private struct State {
    var now = ContinuousClock.now
    var step = Duration.nanoseconds(1)
    /// The rest of the time for which it runs.
    var rest = Duration.zero
  }

  private let state = Mutex(State())

  var now: ContinuousClock.Instant { state.withLock { $0.now } }

  func advance(by time: Duration) { state.withLock { $0.now += time } }

  /// From now on, each look is `step` later than the last look, until the clock has moved by `total`.
  func run(by step: Duration, atMost total: Duration = .unlimited) {
    state.withLock { ($0.step, $0.rest) = (step, total) }
  }

  func stop() { state.withLock { $0.rest = .zero } }

  private func look() -> ContinuousClock.Instant {
    state.withLock { state in
      let step = state.rest > .zero ? state.step : .nanoseconds(1)
      state.rest = max(.zero, state.rest - step)
      state.now += step
      return state.now
    }
  }

  var limits: LimitClock {
    LimitClock(
      now: { [self] in look() }, sleep: { [self] in advance(by: $0) }, step: .milliseconds(10),
      slowness: 10_000)
  }
}

extension LimitClock {
  /// A clock of its own that stands still: no limit of time passes.
  static var still: LimitClock { TestClock().limits }
}

extension Duration {
  /// For a limit that a test must not reach.
  static let unlimited = seconds(100 * 365 * 86_400)
}

extension ContinuousClock.Instant {
  /// For an end that a test must not reach.
  static var never: ContinuousClock.Instant { .now + .unlimited }
}

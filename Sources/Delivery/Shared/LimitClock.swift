import Glibc

/// Clock for limits of time. Nobody can set it.
///
/// A test passes a clock that stands still until the test moves it, so that no limit passes because the machine is slow.
package struct LimitClock: Sendable {
  /// Returns the current time.
  package let now: @Sendable () -> ContinuousClock.Instant
  /// Waits; used where nothing else can end the wait.
  package let sleep: @Sendable (Duration) -> Void
  /// Time after which a wait for something else looks at the clock again. Real time.
  let step: Duration
  /// Number of seconds in which this clock advances by one second.
  let slowness: Int

  package init(
    now: @escaping @Sendable () -> ContinuousClock.Instant,
    sleep: @escaping @Sendable (Duration) -> Void, step: Duration = .seconds(1000),
    slowness: Int = 1
  ) {
    self.now = now
    self.sleep = sleep
    self.step = step
    self.slowness = slowness
  }

  package static let system = LimitClock(now: { .now }, sleep: sleepThread)

  /// A clock that is slower than the system's, so that each limit of time takes longer.
  package static func slowed(by slowness: Int) -> LimitClock {
    let start = ContinuousClock.now
    return LimitClock(
      now: { start + (.now - start) / slowness }, sleep: sleepThread, slowness: slowness)
  }

  /// Real time in which this clock advances by `limit`, for waits that cannot look at the clock.
  func realTime(of limit: Duration) -> Duration { limit * slowness }

  /// The end of a wait that cannot look at the clock.
  func realInstant(of deadline: ContinuousClock.Instant) -> ContinuousClock.Instant {
    .now + realTime(of: deadline - now())
  }
}

private let sleepThread: @Sendable (Duration) -> Void = { time in
  usleep(useconds_t(max(0, time / .microseconds(1))))
}

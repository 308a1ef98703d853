package import Glibc

/// Runs `body` on a new thread, which the caller joins or detaches (`pthread_create`).
package func startThread(_ body: @escaping @Sendable () -> Void) -> pthread_t {
  final class Work {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
  var thread = pthread_t()
  let failure = pthread_create(
    &thread, nil,
    { work in
      Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
      return nil
    }, Unmanaged.passRetained(Work(body)).toOpaque())
  precondition(failure == 0, "no thread")
  return thread
}

/// Runs all of `works`, each on its own thread, and returns the results in order.
///
/// - Throws: the error of the first work, in order, that failed.
package func atOnce<Value: Sendable>(_ works: [@Sendable () throws -> Value]) throws -> [Value] {
  let results = Monitor<[Int: Result<Value, any Error>]>([:])
  let threads = works.enumerated().map { index, work in
    startThread {
      let result = Result { try work() }
      results.with { $0[index] = result }
    }
  }
  for thread in threads { pthread_join(thread, nil) }
  return try results.with { results in works.indices.map { results[$0]! } }.map { try $0.get() }
}

/// Value shared by threads, which can wait for changes (`pthread_cond_wait`).
// @unchecked: the value is used only under the lock.
package final class Monitor<Value>: @unchecked Sendable {
  private var value: Value
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let change = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  package init(_ value: Value) {
    self.value = value
    pthread_mutex_init(lock, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    // A clock that an administrator cannot set.
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(change, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(change)
    pthread_mutex_destroy(lock)
    change.deallocate()
    lock.deallocate()
  }

  package func with<Result>(_ body: (inout Value) -> Result) -> Result {
    wait { value in body(&value) }
  }

  /// Calls `body` again after each change of the value, until it returns a result. Use it for an
  /// idle thread that waits for work or for its end; use a deadline to wait for the end of work.
  package func wait<Result>(_ body: (inout Value) -> Result?) -> Result {
    repeatedly(body) {
      pthread_cond_wait(change, lock)
      return true
    }!
  }

  /// The same, but only until `deadline` (`pthread_cond_timedwait`).
  ///
  /// - Returns: nil if `body` returned no result by then.
  package func wait<Result>(
    until deadline: ContinuousClock.Instant, _ body: (inout Value) -> Result?
  ) -> Result? {
    repeatedly(body) {
      let rest = deadline - .now
      guard rest > .zero else { return false }
      var end = timespec.monotonic(after: rest)
      pthread_cond_timedwait(change, lock, &end)
      return true
    }
  }

  /// - Parameter wait: waits for a change; false ends the repetition.
  private func repeatedly<Result>(
    _ body: (inout Value) -> Result?, wait: () -> Bool
  ) -> Result? {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    repeat {
      if let result = body(&value) {
        pthread_cond_broadcast(change)
        return result
      }
    } while wait()
    return nil
  }
}

extension timespec {
  /// The time after `rest`, by the monotonic clock.
  fileprivate static func monotonic(after rest: Duration) -> timespec {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC, &now)
    let end = Duration.seconds(Int64(now.tv_sec)) + .nanoseconds(now.tv_nsec) + rest
    let (seconds, attoseconds) = end.components
    return timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
  }
}

import Base
import CCurl

/// The earlier end of a request. libcurl asks for it at least once a second.
final class TransferEnd {
  private let deadline: ContinuousClock.Instant
  private let clock: LimitClock
  private let stopping: Flag?
  private var isOverdue = false

  init(at deadline: ContinuousClock.Instant, _ clock: LimitClock, stopping: Flag?) {
    self.deadline = deadline
    self.clock = clock
    self.stopping = stopping
  }

  func isReached() -> Bool {
    isOverdue = clock.now() >= deadline
    return isOverdue || stopping?.isSet == true
  }

  /// The code of a request that ended with `code`.
  func code(_ code: CURLcode) -> CURLcode {
    code == CURLE_ABORTED_BY_CALLBACK && isOverdue ? CURLE_OPERATION_TIMEDOUT : code
  }
}

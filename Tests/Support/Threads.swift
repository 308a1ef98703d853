import Foundation
import Synchronization

/// Runs `work` on `count` threads that begin together, and returns the results by number.
///
/// - Throws: the error of the first call that fails.
@discardableResult
package func inParallel<T: Sendable, Failure: Error>(
  _ count: Int, file: StaticString = #fileID, line: Int = #line,
  _ work: @escaping @Sendable (Int) throws(Failure) -> T
) throws(Failure) -> [T] {
  let results = Mutex<[Int: Result<T, Failure>]>([:])
  let isReady = DispatchSemaphore(value: 0)
  let start = DispatchSemaphore(value: 0)
  let isDone = DispatchSemaphore(value: 0)
  for number in 0..<count {
    Thread.detachNewThread {
      isReady.signal()
      start.wait()
      let result = Result { () throws(Failure) in try work(number) }
      results.withLock { $0[number] = result }
      isDone.signal()
    }
  }
  for _ in 0..<count { isReady.wait() }
  for _ in 0..<count { start.signal() }
  let all = WatchedWork("runs \(count) threads", file: file, line: line)
  for _ in 0..<count { isDone.wait() }
  withExtendedLifetime(all) {}
  let ended = results.withLock { $0 }
  var values: [T] = []
  for number in 0..<count { values.append(try ended[number]!.get()) }
  return values
}

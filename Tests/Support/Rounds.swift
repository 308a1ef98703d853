import Foundation

/// The number of rounds of a test: `SWITCHBOARD_ROUNDS`, otherwise `count`.
package func rounds(default count: Int) -> Int {
  ProcessInfo.processInfo.environment["SWITCHBOARD_ROUNDS"].flatMap { Int($0) } ?? count
}

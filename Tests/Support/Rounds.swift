import Foundation

/// How often a test does what it does: `SWITCHBOARD_ROUNDS`, or `count` where that is not set.
package func rounds(default count: Int) -> Int {
  ProcessInfo.processInfo.environment["SWITCHBOARD_ROUNDS"].flatMap { Int($0) } ?? count
}

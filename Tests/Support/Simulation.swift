import Foundation

/// Plays random histories, each from its own seed, and returns what went wrong.
///
/// `SWITCHBOARD_HISTORIES` sets their number, `SWITCHBOARD_SEED` the first seed: to play one history again,
/// set it and ask for one history.
///
/// - Parameters:
///   - bugs: seeds of histories that once showed a bug, with the sentence that says which. They are played first.
///   - history: plays the history of a seed, and returns its first problem; nil if it has none.
/// - Returns: at most ten problems, each with its seed.
package func simulate(
  _ count: Int, bugs: [UInt64: String] = [:], _ history: (UInt64) throws -> String?
) rethrows -> [String] {
  let environment = ProcessInfo.processInfo.environment
  let first = environment["SWITCHBOARD_SEED"].flatMap { UInt64($0) } ?? 1
  let count = environment["SWITCHBOARD_HISTORIES"].flatMap { UInt64($0) } ?? UInt64(count)
  var problems: [String] = []
  for seed in bugs.keys.sorted() + Array(first..<(first + count)) where problems.count < 10 {
    if let problem = try history(seed) { problems.append("seed \(seed): \(problem)") }
  }
  return problems
}

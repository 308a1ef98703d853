import Synchronization

/// A change of a statement that a programmer could make by mistake.
package struct SQLChange: Sendable, CustomStringConvertible {
  private let original: String
  private let replacement: String
  private let hits = Hits()

  private final class Hits: Sendable {
    let value = Atomic(0)
  }

  package init(_ original: String, _ replacement: String) {
    (self.original, self.replacement) = (original, replacement)
  }

  package var description: String { "\(original) → \(replacement)" }

  /// How many statements had the text of the change.
  package var count: Int { hits.value.load(ordering: .relaxed) }

  /// The changed statement; nil if it has no such text.
  package func apply(to sql: String) -> String? {
    guard sql.contains(original) else { return nil }
    hits.value.add(1, ordering: .relaxed)
    return sql.replacing(original, with: replacement)
  }
}

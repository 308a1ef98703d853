/// One result of the companion's check.
package struct CheckLine: CustomStringConvertible {
  private enum Kind: String {
    case ok = "ok       "
    /// Not configured, perhaps on purpose.
    case unset = "unset    "
    /// Works, but only the administrator knows whether it is safe.
    case warning = "warning  "
    case problem = "PROBLEM  "
  }

  private let kind: Kind
  /// Text for administrators, without the kind.
  package let text: String

  /// Kind as a word: `ok`, `unset`, `warning` or `problem`.
  package var result: String { "\(kind)" }

  package var isProblem: Bool { kind == .problem }

  /// Result of a check that found no problem.
  package static func ok(_ text: String) -> CheckLine { CheckLine(kind: .ok, text: text) }
  /// Result of a check of a feature that is not configured.
  package static func unset(_ text: String) -> CheckLine { CheckLine(kind: .unset, text: text) }
  /// Result of a check that found something that may be unsafe.
  package static func warning(_ text: String) -> CheckLine { CheckLine(kind: .warning, text: text) }
  /// Result of a check that found a problem.
  package static func problem(_ text: String) -> CheckLine { CheckLine(kind: .problem, text: text) }

  package var description: String { kind.rawValue + text }
}

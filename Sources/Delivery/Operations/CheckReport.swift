import Base

/// One result of the companion's check.
package struct CheckLine: CustomStringConvertible {
  private enum Kind: String {
    case ok = "ok       "
    /// Not configured, perhaps on purpose.
    case unset = "unset    "
    case problem = "PROBLEM  "
  }

  private let kind: Kind
  fileprivate let text: String

  /// Kind as a word: `ok`, `unset` or `problem`.
  fileprivate var result: String { "\(kind)" }

  package var isProblem: Bool { kind == .problem }

  static func ok(_ text: String) -> CheckLine { CheckLine(kind: .ok, text: text) }
  static func unset(_ text: String) -> CheckLine { CheckLine(kind: .unset, text: text) }
  static func problem(_ text: String) -> CheckLine { CheckLine(kind: .problem, text: text) }

  package var description: String { kind.rawValue + text }
}

/// All results of the check.
package struct CheckReport: CommandAnswer {
  let all: [CheckLine]

  package var isFine: Bool { !all.contains(where: \.isProblem) }

  package init(_ all: [CheckLine]) { self.all = all }

  package var text: String { all.map(\.description).joined(separator: "\n") }

  package var json: [UInt8] {
    JSONWriter.object { json in
      json.member(
        "checks",
        array: { array in
          for line in all {
            array.object { json in
              json.member("result", line.result)
              json.member("text", line.text)
            }
          }
        })
    }
  }
}

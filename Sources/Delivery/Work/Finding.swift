import Base

/// One result of the companion's check.
package struct Finding: CustomStringConvertible {
  private enum Kind: String {
    case ok = "ok     "
    /// Not configured, perhaps on purpose.
    case unset = "unset  "
    case fault = "FAULT  "
  }

  private let kind: Kind
  fileprivate let text: String

  /// Kind as a word: `ok`, `unset` or `fault`.
  fileprivate var result: String { "\(kind)" }

  package var isFault: Bool { kind == .fault }

  static func ok(_ text: String) -> Finding { Finding(kind: .ok, text: text) }
  static func unset(_ text: String) -> Finding { Finding(kind: .unset, text: text) }
  static func fault(_ text: String) -> Finding { Finding(kind: .fault, text: text) }

  package var description: String { kind.rawValue + text }
}

/// All results of the check.
package struct Findings: CommandAnswer {
  let all: [Finding]

  package var isFaultless: Bool { !all.contains(where: \.isFault) }

  package init(_ all: [Finding]) { self.all = all }

  package var text: String { all.map(\.description).joined(separator: "\n") }

  package var json: [UInt8] {
    JSONWriter.object { json in
      json.member(
        "findings",
        array: { array in
          for finding in all {
            array.object { json in
              json.member("result", finding.result)
              json.member("text", finding.text)
            }
          }
        })
    }
  }
}

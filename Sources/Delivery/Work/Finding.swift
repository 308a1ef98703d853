/// One result of the companion's check.
package struct Finding: CustomStringConvertible {
  private enum Kind: String {
    case ok = "ok     "
    /// Left out, perhaps on purpose.
    case unset = "unset  "
    case fault = "FAULT  "
  }

  private let kind: Kind
  private let text: String

  package var isFault: Bool { kind == .fault }

  static func ok(_ text: String) -> Finding { Finding(kind: .ok, text: text) }
  static func unset(_ text: String) -> Finding { Finding(kind: .unset, text: text) }
  static func fault(_ text: String) -> Finding { Finding(kind: .fault, text: text) }

  package var description: String { kind.rawValue + text }
}

/// One result of the companion's check.
package struct Finding: CustomStringConvertible {
  package let isFault: Bool
  private let text: String

  static func ok(_ text: String) -> Finding { Finding(isFault: false, text: text) }
  static func fault(_ text: String) -> Finding { Finding(isFault: true, text: text) }

  package var description: String { (isFault ? "FAULT  " : "ok     ") + text }
}

import Foundation

/// A page of the manual, `Sources/Manual/NAME.md`.
package struct ManualPage {
  package let text: String

  package init(_ name: String) throws {
    text = try String(
      contentsOf: projectFolder.appending(path: "Sources/Manual/\(name).md"), encoding: .utf8)
  }

  /// The listings in the page's blocks with the mark `language`.
  package func listings(in language: String) -> [String] {
    text.matches(of: /```(\w+)\n((?s).*?)```/).filter { $0.1 == language }.map { String($0.2) }
  }
}

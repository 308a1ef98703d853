import Foundation
import Support
import Testing

/// The statements of `Sources/Store`, read from its files.
enum StoreStatements {
  struct Found {
    /// The name of the file, without `.swift`.
    let file: String
    /// In one line.
    let text: String
  }

  /// All string literals with a statement that searches rows.
  static func searching() throws -> [Found] {
    let folder = projectSchema.deletingLastPathComponent().appending(path: "Sources/Store")
    let files = try #require(
      FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
    var found: [Found] = []
    for case let file as URL in files where file.pathExtension == "swift" {
      let name = file.deletingPathExtension().lastPathComponent
      // Statements of `check` on the server's own tables.
      if name == "Inspection" { continue }
      // A backup reads every row anyway; its other statements use the server's own tables.
      if name == "BackupScripts" { continue }
      let source = try String(contentsOf: file, encoding: .utf8)
      for literal in source.matches(of: #/"""\n(?<long>(?s).*?)\n *"""|"(?<short>[^"\n]+)"/#) {
        let text = String(literal.output.long ?? literal.output.short ?? "")
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        guard line.contains(#/^(SELECT|UPDATE|DELETE) /#) else { continue }
        found.append(Found(file: name, text: line))
      }
    }
    return found
  }
}

import Foundation
import ProcessSupport
import SharedSettings
import Support
import Testing

/// Compares the list of the environment variables with the sources that read them and the manual's
/// page.
@Suite struct VariablesTests {
  /// Variables that systemd or a shell sets.
  private static let ofTheSystem: Set = [
    "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "PATH", "SWIFT_BACKTRACE", "NOTIFY_SOCKET",
    "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM", "CREDENTIALS_DIRECTORY",
  ]

  private var listed: [String: Set<Variable.Reader>] {
    Dictionary(uniqueKeysWithValues: Variable.all.map { ($0.name, $0.readers) })
  }

  @Test func theSourcesReadWhatIsListedAndNothingElse() throws {
    var read: Set<String> = []
    for folder in ["responder", "relay", "companion", "ProcessSupport", "SharedSettings"] {
      let path = projectFolder.appending(path: "Sources/\(folder)")
      for file in try FileManager.default.contentsOfDirectory(
        at: path, includingPropertiesForKeys: nil)
      where file.pathExtension == "swift" && file.lastPathComponent != "Variables.swift" {
        let text = try String(contentsOf: file, encoding: .utf8)
        let names = text.matches(of: /"([A-Z]+(?:_[A-Z]+)+|ENVIRONMENT)"/).map { String($0.1) }
        read.formUnion(names)
      }
    }
    #expect(
      read.subtracting(Self.ofTheSystem) == Set(listed.keys).subtracting(Variable.ofLibraries))
  }

  @Test func thePageConfigureExplainsWhatIsListedAndNothingElse() throws {
    let page = try String(
      contentsOf: projectFolder.appending(path: "Sources/Manual/configure.md"), encoding: .utf8)
    var explained: [String: Set<Variable.Reader>] = [:]
    // The tables whose second column names the programs that read a variable.
    for section in page.split(separator: "\n## ") {
      guard section.contains("| name | read by |") else { continue }
      for line in section.split(separator: "\n") where line.hasPrefix("| `") {
        let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        guard cells.count > 2 else { continue }
        for name in cells[0].matches(of: /`([A-Za-z_]+)`/).map({ String($0.1) }) {
          explained[name] = readers(cells[1])
        }
      }
    }
    for name in Self.ofTheSystem { explained[name] = nil }
    #expect(Set(explained.keys) == Set(listed.keys))
    for (name, readers) in listed { #expect(explained[name] == readers, "\(name)") }
  }

  private func readers(_ cell: String) -> Set<Variable.Reader> {
    if cell == "all" { return [.responder, .companion, .relay] }
    if cell == "both" { return [.responder, .companion] }
    let words = cell.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    return Set(words.compactMap { Variable.Reader(rawValue: $0) })
  }
}

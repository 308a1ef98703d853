import Foundation
import Support
import Testing

/// The search of `Tests/run` for secrets in what the tests' programs stored and logged.
@Suite struct EvidenceTests {
  /// The result of the search in a folder with these files.
  private func search(_ files: [String: String]) throws -> (status: Int32, output: String) {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: folder) }  // It is in the temporary folder.
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (name, text) in files {
      try text.write(to: folder.appending(path: name), atomically: true, encoding: .utf8)
    }
    let script = """
      set -euo pipefail
      die() { echo "$*"; exit 9; }
      . "$1"
      search_evidence "$2"
      """
    let program = projectFolder.appending(path: "Tests/evidence.sh").path()
    return runProgram("bash", ["-c", script, "bash", program, folder.path()])
  }

  @Test(arguments: [
    ["1.sql": "a secret"], ["1.log": "a secret"], ["1.sql": "a", "1.log": "a secret"],
    ["1.codes": "123456", "2.sql": "a", "1.log": "a (123456)"],
    ["1.codes": "123456", "2.sql": "a", "1.sql": "a (123456)"],
  ])
  func itFindsASecretInEitherKindOfFile(files: [String: String]) throws {
    let outcome = try search(["secrets": "secret\n"].merging(files) { $1 })
    #expect(outcome.status == 9 && outcome.output.contains("in the clear"), "\(outcome.output)")
  }

  @Test(arguments: [
    [:], ["1.sql": "a"], ["1.log": "a", "1.sql": "b"],
    ["1.codes": "123456", "1.log": "a 1234567", "2.log": "another site's 123456"],
  ])
  func itPassesFilesWithoutSecrets(files: [String: String]) throws {
    let outcome = try search(["secrets": "secret\n"].merging(files) { $1 })
    #expect(outcome.status == 0, "\(outcome.output)")
  }
}

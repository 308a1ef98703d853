import Foundation
import Support
import Testing

/// The manual names tests that exist; its page "What is guaranteed" names one for each sentence.
@Suite struct GuaranteeTests {
  private static let pages = try! FileManager.default
    .contentsOfDirectory(atPath: projectFolder.appending(path: "Sources/Manual").path())
    .filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }

  private static let names = try! ManualPage("guarantees").text
    .matches(of: /\| `(\w+)\.(\w+)` \|/).map { "\($0.1).\($0.2)" }

  /// The tests of the project: suite and name, as the files declare them.
  private static let tests: Set<String> = {
    let folder = projectFolder.appending(path: "Tests")
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)!
    return Set(
      files.compactMap { $0 as? URL }.filter { $0.lastPathComponent.hasSuffix("Tests.swift") }
        .flatMap { file in
          let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
          let declaration = /(?:@Suite[^\n]* (?:struct|class)|\nextension) (\w+Tests)\b/
          let suite = text.firstMatch(of: declaration)?.1 ?? ""
          return text.matches(of: /@Test(?s:.*?)\n? *func (\w+)\(/).map { "\(suite).\($0.1)" }
        })
  }()

  @Test func everySentenceHasATest() throws {
    let rows = try ManualPage("guarantees").text.split(separator: "\n").count { $0.hasPrefix("| ") }
    let heads = 4
    #expect(Self.names.count == rows - heads)
    #expect(Self.names.count > 30)
  }

  @Test(arguments: pages)
  func theTestsThatAPageNamesExist(_ page: String) throws {
    let names = try ManualPage(page).text.matches(of: /`(\w+Tests)\.(\w+)`/)
    #expect(names.map { "\($0.1).\($0.2)" }.filter { !Self.tests.contains($0) } == [])
  }
}

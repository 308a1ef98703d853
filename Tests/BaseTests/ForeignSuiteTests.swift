import Foundation
import Support
import Testing

/// The list of other people's suites in `Tests/Fixtures/foreign/README.md`.
@Suite struct ForeignSuiteTests {
  @Test func theListHasAllFilesAndThousandsOfCases() throws {
    let counts = try foreignCounts()
    let folder = URL(filePath: #filePath).appending(path: "../../Fixtures/foreign")
      .standardizedFileURL
    let paths = try #require(FileManager.default.enumerator(atPath: folder.path()))
      .compactMap { $0 as? String }.filter { $0.hasSuffix(".json") }
    for path in paths {
      #expect(counts[path] != nil || counts[String(path.prefix { $0 != "/" })] != nil, "\(path)")
    }
    let total = counts.values.reduce(0, +)
    print("\(total) cases of \(counts.count) foreign suites")
    #expect(total >= 4_000)
  }
}

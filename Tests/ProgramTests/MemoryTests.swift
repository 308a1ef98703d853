import Foundation
import ProcessSupport
import Testing

@Suite struct MemoryTests {
  /// In a process of its own, because other tests need their code meanwhile.
  @Test func codeThatOnlyTheStartNeedsLeavesTheMemory() async {
    await #expect(processExitsWith: .success) {
      let before = try residentCode()
      releaseStartPages()
      let after = try residentCode()
      try #require(after < before / 2, "\(before) kB before, \(after) kB after")
    }
  }
}

/// The code of this process that is in memory, in kB.
private func residentCode() throws -> Int {
  var sum = 0
  var isCode = false
  for line in try String(contentsOfFile: "/proc/self/smaps", encoding: .utf8).split(separator: "\n")
  {
    let words = line.split(separator: " ")
    if words.count > 4 { isCode = words[1] == "r-xp" }
    if isCode, words.first == "Rss:" { sum += Int(words[1]) ?? 0 }
  }
  return sum
}

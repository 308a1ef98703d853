import Base
import Foundation
import Support
import Testing

@testable import Delivery

/// curl reads every URL that our reader accepts in the same way.
///
/// `SWITCHBOARD_FUZZ=1000000` tries a million mutations.
@Suite struct URLReaderTests {
  private static let mutations =
    ProcessInfo.processInfo.environment["SWITCHBOARD_FUZZ"].flatMap(Int.init) ?? 20_000
  private static let seed: UInt64 = 0x5EED_0023

  /// Inputs from the standard that browsers follow.
  private static func inputs() throws -> [String] {
    struct Case: Decodable { let input: String }
    return try foreignCases("urls.json", as: [Case].self).map(\.input)
  }

  /// - Returns: whether our reader accepts the text.
  private func isTaken(_ text: String) -> Bool {
    guard let url = WebURL(text) else { return false }
    let (ours, curls) = (CurlURL.Reading(url), CurlURL.reading(of: text))
    if curls != ours {
      Issue.record("\(text.debugDescription): we read \(ours), curl reads \(curls as Any)")
    }
    if WebURL(url.text) != url || CurlURL(url) == nil {
      Issue.record("\(text.debugDescription): \(url.text) is not the same")
    }
    return true
  }

  @Test func theInputsOfTheStandardAreReadAlike() throws {
    let inputs = try Self.inputs()
    #expect(inputs.count > 700)
    let taken = inputs.count { isTaken($0) }
    #expect((50..<200).contains(taken), "\(taken) of \(inputs.count)")
  }

  @Test func mutationsAreReadAlike() throws {
    let texts =
      try Self.inputs() + misleadingEndpoints(port: 8443) + [
        "https://fcm.googleapis.com/fcm/send/dOuX:APA91b-_x?a=b&c=%20#d",
        "http://user.example.org:8080/a;b=1/c,d?e#f", "https://[2001:db8::1]:8443/x",
        "https://192.0.2.1:1/", "tauri://localhost", "https://a_b.example/%7Ex",
      ]
    let marks = Array(#":/?#[]@\%.0x1e-_~;,&=+ |"#.utf8) + [0x00, 0x09, 0x0A, 0x7F, 0xC3, 0xE3]
    let read = texts.filter { WebURL($0) != nil }
    var random = SeededGenerator(state: Self.seed)
    var taken = 0
    for _ in 0..<Self.mutations {
      var bytes = Array(read.randomElement(using: &random)!.utf8)
      if Bool.random(using: &random) {
        bytes = random.mutate(texts)
      } else {
        for _ in 0..<Int.random(in: 1...2, using: &random) {
          let index = Int.random(in: 0...bytes.count, using: &random)
          let end = min(bytes.count, index + Int.random(in: 0...1, using: &random))
          bytes.replaceSubrange(index..<end, with: [marks.randomElement(using: &random)!])
        }
      }
      if isTaken(String(decoding: bytes, as: UTF8.self)) { taken += 1 }
    }
    print("\(Self.mutations) mutated URLs, seed \(Self.seed): \(taken) taken, all read alike")
    #expect(taken > Self.mutations / 10)
  }
}

import Cryptography
import Support
import Testing

/// Corner cases of base64 from web-platform-tests and from Swift's Foundation.
@Suite struct ForeignBase64Tests {
  /// Our reader accepts one spelling of each value (RFC 4648 §3).
  private enum Policy: String {
    case whitespace, missingPadding
    /// The last character has bits that are lost.
    case strayBits
  }

  private struct Case: Decodable {
    let suite: String
    let text: String
    let bytes: Base64Bytes?

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      suite = try list.decode(String.self)
      text = try list.decode(String.self)
      bytes = try list.decodeIfPresent(Base64Bytes.self)
    }

    var policy: Policy? {
      guard let bytes = bytes?.bytes else { return nil }
      if text.contains(where: \.isWhitespace) { return .whitespace }
      if !text.utf8.count.isMultiple(of: 4) { return .missingPadding }
      return base64Encoded(bytes) == text ? nil : .strayBits
    }
  }

  @Test func textsGiveTheirBytesOrAreRefused() throws {
    var tally = ForeignTally()
    for test in try foreignCases("base64.json", as: [Case].self) {
      let bytes = base64Decoded(test.text)
      tally.add(
        "\(test.suite) \(test.text.debugDescription)", bytes != nil, isValid: test.bytes != nil,
        policy: test.policy?.rawValue)
      #expect(bytes == nil || bytes == test.bytes?.bytes)
    }
    #expect(try tally.total == foreignCounts()["base64.json"])
    #expect(tally.unexplained == [])
    #expect(
      tally.counts == [
        "accepted": 12, "refused": 73, "whitespace": 118, "missingPadding": 6, "strayBits": 1,
      ])
  }
}

import Cryptography
import Support
import Testing

/// The examples of RFC 8949, appendix A. All are valid CBOR; our reader accepts the part of CTAP2.
@Suite struct CBORExampleTests {
  /// Parts of CBOR that our reader refuses: CTAP 2.1 §8 does not need or does not allow them.
  private enum Policy: String {
    case float, tag, indefiniteLength
    /// Simple values other than false, true and null.
    case simpleValue
    /// Integers beyond 64 bits with a sign.
    case largeInteger
  }

  private struct Example: Decodable {
    let hex: String
    /// The value in diagnostic notation (RFC 8949 §8), or in JSON.
    let notation: String

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      hex = try list.decode(String.self)
      notation = try list.decode(String.self)
    }

    var policy: Policy? {
      switch hex.prefix(2) {
      case "f9", "fa", "fb": .float
      case "c0"..."db": .tag
      case "e0"..."f3", "f7", "f8": .simpleValue
      case "1b" where hex.hasPrefix("1bffff"), "3b" where hex.hasPrefix("3bffff"): .largeInteger
      case "5f", "7f", "9f", "bf": .indefiniteLength
      default:
        ["9f0203ff", "9f0405ff", "bf6162"].contains { hex.contains($0) } ? .indefiniteLength : nil
      }
    }
  }

  @Test func examplesGiveTheirValues() throws {
    var tally = ForeignTally()
    for example in try foreignCases("cbor.json", as: [Example].self) {
      let value = try? CBOR(decoding: #require(hexDecoded(example.hex))[...])
      tally.add(
        "\(example.hex) \(example.notation)", value != nil, isValid: true,
        policy: example.policy?.rawValue)
      guard let value else { continue }
      #expect(notation(of: value) == example.notation.filter { $0 != " " })
    }
    #expect(try tally.total == foreignCounts()["cbor.json"])
    #expect(tally.unexplained == [])
    #expect(
      tally.counts == [
        "accepted": 35, "float": 22, "tag": 8, "indefiniteLength": 11, "simpleValue": 4,
        "largeInteger": 2,
      ])
  }

  private func notation(of value: CBOR) -> String {
    switch value {
    case .integer(let number): "\(number)"
    case .bytes(let bytes): "h'\(hexEncoded(Array(bytes)))'"
    case .text(let text): "\"\(text.replacing(#"\"#, with: #"\\"#).replacing("\"", with: #"\""#))\""
    case .array(let values): "[\(values.map(notation).joined(separator: ","))]"
    case .map(let members):
      "{\(members.map { "\(name(of: $0)):\(notation(of: $1))" }.sorted().joined(separator: ","))}"
    case .boolean(let value): "\(value)"
    case .null: "null"
    }
  }

  private func name(of key: CBOR.Key) -> String {
    switch key {
    case .integer(let number): notation(of: .integer(number))
    case .text(let text): notation(of: .text(text))
    }
  }
}

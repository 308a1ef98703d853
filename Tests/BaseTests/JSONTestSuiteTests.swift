import Base
import Foundation
import Support
import Testing

/// Nicolas Seriot's JSONTestSuite, in strict mode.
@Suite struct JSONTestSuiteTests {
  private struct Case: Decodable {
    let name: String
    let text: [UInt8]

    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      name = try list.decode(String.self)
      let part = try list.decode(Data.self)
      text = try Array(repeatElement(Array(part), count: list.decode(Int.self)).joined())
    }

    /// The suite marks its cases with y, n, or i: the reader may choose.
    var isValid: Bool? { name.hasPrefix("y_") ? true : name.hasPrefix("n_") ? false : nil }
  }

  @Test func textsAreReadOrRefusedAsTheSuiteSays() throws {
    var tally = ForeignTally()
    for test in try foreignCases("json.json", as: [Case].self) {
      tally.add(test.name, (try? JSONValue(test.text)) != nil, isValid: test.isValid)
    }
    #expect(try tally.total == foreignCounts()["json.json"])
    #expect(tally.unexplained == [])
    #expect(
      tally.counts == [
        "accepted": 95, "refused": 188, "accepted by choice": 26, "refused by choice": 31,
      ])
  }

  /// The mode for large answers checks little, but reads all that is valid.
  @Test func lenientModeReadsAllThatIsValid() throws {
    let valid = try foreignCases("json.json", as: [Case].self).filter { $0.isValid == true }
    for test in valid {
      var reader = JSONReader(test.text, .lenient)
      #expect(throws: Never.self, "\(test.name)") {
        try reader.skip()
        try reader.end()
      }
    }
    #expect(valid.count == 95)
  }
}

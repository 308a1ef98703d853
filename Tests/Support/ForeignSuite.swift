import Foundation

/// The cases of a file of `Tests/Fixtures/foreign`.
package func foreignCases<Cases: Decodable>(
  _ file: String, as type: Cases.Type = Cases.self
) throws -> Cases {
  try JSONDecoder().decode(type, from: Data(fixture("foreign/\(file)").utf8))
}

/// The numbers of cases in the table of `Tests/Fixtures/foreign/README.md`, by file or folder.
package func foreignCounts() throws -> [String: Int] {
  let rows = try fixture("foreign/README.md").split(separator: "\n").filter { $0.hasPrefix("| `") }
  return Dictionary(
    uniqueKeysWithValues: rows.compactMap { row in
      let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard let count = Int(cells[1]) else { return nil }
      return (cells[0].trimmingCharacters(in: ["`"]), count)
    })
}

/// Counts what our code did with the cases of a suite that other people wrote.
package struct ForeignTally {
  /// Cases by outcome: `accepted` and `refused` as the suite says, else the name of the policy.
  package private(set) var counts: [String: Int] = [:]
  /// Cases in which our code and the suite differ, and no policy says why.
  package private(set) var unexplained: [String] = []
  package var total: Int { counts.values.reduce(unexplained.count, +) }

  package init() {}

  /// Counts a case.
  ///
  /// - Parameters:
  ///   - isValid: whether the suite accepts the case; nil if it leaves the choice to the reader.
  ///   - policy: the name of our rule that refuses the case. Our code must refuse it.
  ///   - tolerance: the name of our rule that accepts the case. Our code must accept it.
  package mutating func add(
    _ name: some CustomStringConvertible, _ isAccepted: Bool, isValid: Bool?,
    policy: String? = nil, tolerance: String? = nil
  ) {
    let expected = policy == nil ? tolerance == nil ? isValid : true : false
    guard isAccepted == expected ?? isAccepted else {
      return unexplained.append(name.description)
    }
    let plain = isAccepted ? "accepted" : "refused"
    let choice = policy ?? tolerance ?? "\(plain) by choice"
    counts[isValid == isAccepted ? plain : choice, default: 0] += 1
  }
}

import Foundation

@testable import API
@testable import Base

extension FuzzTarget {
  static let ofJSON = [
    FuzzTarget("json", atMost: 2048, testStrict),
    FuzzTarget("json-lenient", atMost: 2048, testLenient),
  ]

  /// Foundation reads what our reader accepts in the same way, and our own ways of reading agree.
  private static func testStrict(_ input: [UInt8]) {
    var reader = JSONReader(input)
    let isSkipped = (try? reader.skip()) != nil && (try? reader.end()) != nil
    let value = try? JSONValue(input)
    require(isSkipped == (value != nil), "skipping and reading disagree")
    guard let value else { return }
    if value.isPlain {
      // Foundation takes a zero byte for UTF-16, but no value that we accept has one.
      let theirs = try? JSONSerialization.jsonObject(with: Data(input), options: .fragmentsAllowed)
      require(theirs.map(value.equals) ?? false, "Foundation reads \(theirs as Any)")
    }
    guard let sorted = try? SortedJSON.rewrite(JSONReader(input)) else { return }
    let again = try? SortedJSON.rewrite(JSONReader(sorted))
    require(again == sorted, "\(sorted.text) is rewritten to \(again?.text as Any)")
  }

  /// The lenient reader reads valid JSON like the strict one.
  private static func testLenient(_ input: [UInt8]) {
    var reader = JSONReader(input, .lenient)
    let lenient = try? LenientValue(&reader)
    let isWhole = (try? reader.end()) != nil
    var skipper = JSONReader(input, .lenient)
    let isSkipped = (try? skipper.skip()) != nil && (try? skipper.end()) != nil
    guard let strict = try? JSONValue(input), strict.depth <= JSONReader.Mode.lenient.maximumDepth
    else { return }
    require(isWhole && isSkipped, "not read to the end")
    require(lenient.map { $0.equals(strict) } ?? false, "\(lenient as Any) is not \(strict)")
  }
}

/// A value as the lenient reader gives it.
private enum LenientValue {
  case null
  case boolean(Bool)
  case string(String)
  case number(Int64?)
  case array([LenientValue])
  case object([(String, LenientValue)])

  init(_ reader: inout JSONReader) throws {
    switch try reader.start() {
    case UInt8(ascii: "{"):
      var members: [(String, LenientValue)] = []
      _ = try reader.optionalObject { members.append(($0, try LenientValue(&$1))) }
      self = .object(members)
    case UInt8(ascii: "["):
      var elements: [LenientValue] = []
      _ = try reader.optionalArray { elements.append(try LenientValue(&$0)) }
      self = .array(elements)
    case UInt8(ascii: "\""): self = .string(try reader.optionalString() ?? "")
    case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .boolean(try reader.isTrue())
    case UInt8(ascii: "n"):
      try reader.skip()
      self = .null
    default: self = .number(try reader.optionalInteger())
    }
  }

  func equals(_ value: JSONValue) -> Bool {
    switch (self, value) {
    case (.null, .null): true
    case (.boolean(let own), .boolean(let other)): own == other
    case (.string(let own), .string(let other)): own.utf8.elementsEqual(other.utf8)
    case (.number(let own), .number(let other)):
      own == nil || Int64(other.text) == nil || own == Int64(other.text)
    case (.array(let own), .array(let others)):
      own.count == others.count && zip(own, others).allSatisfy { $0.equals($1) }
    case (.object(let own), .object(let others)):
      own.count == others.count
        && zip(own, others).allSatisfy {
          $0.0.utf8.elementsEqual($1.name.utf8) && $0.1.equals($1.value)
        }
    default: false
    }
  }
}

extension JSONValue {
  fileprivate var depth: Int {
    switch self {
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .object(let members): 1 + (members.map(\.value.depth).max() ?? 0)
    default: 0
    }
  }

  /// Whether Foundation can read the value: no number beyond Double, no name twice.
  fileprivate var isPlain: Bool {
    switch self {
    case .number(let number): Double(number.text)?.isFinite ?? false
    case .array(let elements): elements.allSatisfy(\.isPlain)
    case .object(let members):
      Set(members.map(\.name)).count == members.count && members.allSatisfy(\.value.isPlain)
    default: true
    }
  }

  /// Whether Foundation's value is the same.
  fileprivate func equals(_ other: Any) -> Bool {
    switch (self, other) {
    case (.null, _ as NSNull): true
    case (.boolean(let own), let other as NSNumber): own == other.boolValue
    case (.string(let own), let other as String): own.utf8.elementsEqual(other.utf8)
    case (.number(let own), let other as NSNumber): own.isAbout(other.doubleValue)
    case (.array(let own), let others as [Any]):
      own.count == others.count && zip(own, others).allSatisfy { $0.equals($1) }
    case (.object(let own), let others as [String: Any]):
      own.count == others.count
        && own.allSatisfy { member in others[member.name].map(member.value.equals) ?? false }
    default: false
    }
  }
}

extension JSONNumber {
  /// Foundation keeps some numbers as Decimal, which becomes a Double less exactly than our reader's.
  fileprivate func isAbout(_ other: Double) -> Bool {
    Double(text).map { abs($0 - other) <= abs($0) * 1e-12 } ?? false
  }
}

import Foundation
import Store
import Support
import Testing

@testable import API

/// Amounts beside Python's `decimal`, which calculates exactly.
@Suite struct AmountPropertyTests {
  /// Reads lines of `currency's digits, text`, and prints the amount or `-`.
  private static let oracle = """
    import decimal, re, sys
    decimal.getcontext().prec = 5000
    number = re.compile(r'-?(0|[1-9][0-9]*)([.][0-9]+)?([eE][+-]?[0-9]+)?')
    for line in open(sys.argv[1]).read().split('\\n')[:-1]:
        digits, text = line.split(' ', 1)
        amount = '-'
        if number.fullmatch(text):
            value = decimal.Decimal(text)
            unit = decimal.Decimal(1).scaleb(-int(digits))
            if 0 < value < 10**10 and value % unit == 0:
                amount = format(value.quantize(unit), 'f')
        print(amount)
    """

  @Test func everyAmountIsWhatPythonCalculates() throws {
    let currencies = ["JPY", "CAD", "EUR", "KWD"]
    var random = SeededGenerator(state: 20_261_126)
    let inputs = (0..<100_000).map { _ in
      (currency: currencies.randomElement(using: &random)!, text: Self.text(using: &random))
    }
    let lines = try inputs.map {
      "\(try #require(Currency(code: $0.currency)).digits) \($0.text)\n"
    }
    let expected = try Self.python(lines.joined()).split(separator: "\n")
    try #require(expected.count == inputs.count)
    #expect(expected.filter { $0 != "-" }.count > 20_000)
    var differing: [String] = []
    for (input, amount) in zip(inputs, expected) {
      let found = Self.amount(input.text, input.currency) ?? "-"
      if found != amount { differing.append("\(input): \(found), not \(amount)") }
    }
    #expect(differing.isEmpty, "\(differing.prefix(5))")
  }

  /// The amount of a request whose `amount` is a string and, where JSON allows, a number.
  private static func amount(_ text: String, _ currency: String) -> String? {
    func amount(written: String) -> String? {
      let body = #"{"amount":\#(written),"currency":"\#(currency)","orderId":"o"}"#
      guard let order = try? decode(MerchantOrder.self, from: Array(body.utf8)) else { return nil }
      return try? order.amount.amount(in: order.currency).text
    }
    let quoted = amount(written: "\"\(text)\"")
    return amount(written: text) == quoted ? quoted : "number and string differ"
  }

  /// A number near the limits of amounts, or a text that is nearly a number.
  private static func text(using random: inout SeededGenerator) -> String {
    func digits(_ most: Int) -> String {
      (0..<Int.random(in: 0...most, using: &random)).map { _ in
        String("0000123456789".randomElement(using: &random)!)
      }.joined()
    }
    var text = ["", "", "", "", "-", "+"].randomElement(using: &random)!
    text += ["0", "1", "9", "10", "99", ""].randomElement(using: &random)! + digits(10)
    if Bool.random(using: &random) { text += "." + digits(5) }
    if Int.random(in: 0..<4, using: &random) == 0 {
      text += ["e", "E", "e+", "e-"].randomElement(using: &random)!
      text += String(Int.random(in: 0...14, using: &random))
    }
    return text
  }

  private static func python(_ input: String) throws -> String {
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    defer { try? FileManager.default.removeItem(at: file) }
    try Data(input.utf8).write(to: file)
    let outcome = runProgram("/usr/bin/python3", ["-c", oracle, file.path()])
    try #require(outcome.status == 0, "\(outcome.output)")
    return outcome.output
  }
}

import Base
import HTTP

@testable import API
@testable import Delivery
@testable import Store

extension FuzzTarget {
  static let ofTexts = [
    FuzzTarget("email-address", atMost: 320, testAddress),
    FuzzTarget("url", atMost: 512, testURL),
    FuzzTarget("ip-network", atMost: 128, testNetwork),
    FuzzTarget("amount", atMost: 128, testAmount),
  ]

  /// The mailer takes each address that the responder takes, and a name breaks no header.
  private static func testAddress(_ input: [UInt8]) {
    let form = Request(method: "POST", body: Array("email=\(input.text.percentEncoded)".utf8))
    if let address = try? EmailAddress(item: "email", of: form).text {
      require(Message.isAddress(address), "the mailer refuses \(address)")
      require(address.isVisibleASCII(atMost: 254), "\(address) breaks a header")
    }
    let lines = MailHeader.phrase(input.text.withoutControls).utf8.split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    require(lines.allSatisfy { $0.allSatisfy(\.isPrintable) }, "a name breaks a header")
    require(lines.dropFirst().allSatisfy { $0.first == UInt8(ascii: " ") }, "a name is a field")
  }

  /// curl reads each URL that our reader accepts in the same way.
  private static func testURL(_ input: [UInt8]) {
    let text = input.text
    guard let url = WebURL(text) else { return }
    require(CurlURL.Reading(url) == CurlURL.reading(of: text), "curl reads \(text) differently")
    require(WebURL(url.text) == url && CurlURL(url) != nil, "\(url.text) is another URL")
    if let address = url.address {
      require(IPNetwork(address)?.contains(address) ?? false, "\(address) is no address")
    }
  }

  /// A network and an address, with a line end between.
  private static func testNetwork(_ input: [UInt8]) {
    let parts = input.text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    if let network = IPNetwork(String(parts[0])), let address = parts.last.map(String.init) {
      _ = network.contains(address)
      let start = String(parts[0].prefix { $0 != "/" })
      require(network.contains(start), "\(start) is not in its network")
    }
    if IPNetwork.isPublic(input.text) {
      require(IPNetwork.isAddress(input.text), "\(input.text) is no address")
    }
  }

  private static let currencies = ["JPY", "EUR", "KWD"].map { Currency(code: $0)! }

  /// A decimal number in JSON, or in a string there. An amount is written as it is read.
  private static func testAmount(_ input: [UInt8]) {
    guard let number = try? API.decode(DecimalText.self, from: input) else { return }
    for currency in currencies {
      guard let amount = try? number.amount(in: currency) else { continue }
      let again = Amount(number: amount.text.utf8, in: currency)
      require(again == amount, "\(number.text) is written as \(amount.text)")
      let value = Double(number.text) ?? 0
      require(
        abs((Double(amount.text) ?? 0) - value) <= value * 1e-9, "\(number.text), \(amount.text)")
    }
  }
}

import Base
import HTTP

/// An e-mail address in lower case: text, `@`, text; at most 254 bytes of visible ASCII. Mails to addresses
/// with other characters (RFC 6532) arrive only if every server on the way supports them, so we reject these.
struct EmailAddress: SelfDescribing {
  static let schema = Schema.text(atMost: maximum).with("format", "email")
    .with("pattern", .string("^\(character)+@\(character)+$")).example("name@example.com")
  private static let maximum = 254
  private static let special = "<>,;:\"()[]\\"
  private static let character =
    "[^@\\u0000-\\u0020\\u007f-\\uffff\(special.map { "[]\\".contains($0) ? "\\\($0)" : "\($0)" }.joined())]"

  let text: String

  init(from decoder: any Decoder) throws {
    try self.init(decoder.text(atMost: Self.maximum), of: decoder.field)
  }

  /// Reads the address from an item of a form.
  init(item field: String, of request: Request) throws {
    try self.init(
      checkedText(request.formItem(field) ?? "", of: field, atMost: Self.maximum), of: field)
  }

  private init(_ given: String, of field: String) throws {
    guard given.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw Failure.validation(
        field: field, reason: "not_ascii", sentence: \.addressNotASCII)
    }
    let parts = given.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    let isAddress =
      parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && given.utf8.count <= Self.maximum
      && given.utf8.allSatisfy { $0.isVisible && !Self.special.utf8.contains($0) }
    guard isAddress else {
      throw Failure.validation(
        field: field, reason: "not_an_email_address", sentence: \.notAnEmailAddress)
    }
    text = given.lowercased()
  }
}

import Base
import HTTP

/// An e-mail address in lower case: text, `@`, text; at most 254 bytes of visible ASCII. Mails to addresses
/// with other characters (RFC 6532) arrive only if every server on the way supports them, so we reject these.
struct EmailAddress: Decodable {
  let text: String

  init(from decoder: any Decoder) throws {
    try self.init(decoder.text(atMost: 254), of: decoder.field)
  }

  /// Reads the address from an item of a form.
  init(item field: String, of request: Request) throws {
    try self.init(checkedText(request.formItem(field) ?? "", of: field, atMost: 254), of: field)
  }

  private init(_ given: String, of field: String) throws {
    guard given.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw Failure.validation(
        field: field, reason: "not_ascii", sentence: \.addressNotASCII)
    }
    let parts = given.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    let special = "<>,;:\"()[]\\".utf8
    let isAddress =
      parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && given.utf8.count <= 254
      && given.utf8.allSatisfy { $0.isVisible && !special.contains($0) }
    guard isAddress else {
      throw Failure.validation(
        field: field, reason: "not_an_email_address", sentence: \.notAnEmailAddress)
    }
    text = given.lowercased()
  }
}

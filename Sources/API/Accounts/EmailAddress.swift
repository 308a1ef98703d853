import Base
import HTTP

/// An e-mail address, lower-cased: something, `@`, something; at most 254 bytes, no white space.
struct EmailAddress: Decodable {
  let text: String

  init(from decoder: any Decoder) throws {
    try self.init(decoder.text(atMost: 254), of: decoder.field)
  }

  /// The same from an item of a form.
  init(item field: String, of request: Request) throws {
    try self.init(checkedText(request.formItem(field) ?? "", of: field, atMost: 254), of: field)
  }

  private init(_ text: String, of field: String) throws {
    let given = text.lowercased()
    // By scalars: a mark with a combining character is another Character, but the same byte in a
    // mail's To field.
    let parts = given.unicodeScalars.split(separator: "@", omittingEmptySubsequences: false)
    let special = "<>,;:\"()[]\\".unicodeScalars
    let isAddress =
      parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && given.utf8.count <= 254
      && !given.unicodeScalars.contains { $0.properties.isWhitespace || special.contains($0) }
    guard isAddress else {
      throw Failure.validation(
        field: field, reason: "not_an_email_address",
        message: "Invalid email format. Enter an address such as name@example.org.")
    }
    self.text = given
  }
}

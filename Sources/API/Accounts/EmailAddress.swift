import Base

/// An e-mail address, lower-cased: something, `@`, something; at most 254 bytes, no white space.
struct EmailAddress: Decodable {
  let text: String

  init(from decoder: any Decoder) throws {
    let given = try decoder.text(atMost: 254).lowercased()
    // By scalars: a mark with a combining character is another Character, but the same byte in a
    // mail's To field.
    let parts = given.unicodeScalars.split(separator: "@", omittingEmptySubsequences: false)
    let special = "<>,;:\"()[]\\".unicodeScalars
    let isAddress =
      parts.count == 2 && parts.allSatisfy { !$0.isEmpty } && given.utf8.count <= 254
      && !given.unicodeScalars.contains { $0.properties.isWhitespace || special.contains($0) }
    guard isAddress else {
      throw Failure.validation(
        field: decoder.field, reason: "not_an_email_address",
        message: "Invalid email format. Enter an address such as name@example.org.")
    }
    text = given
  }
}

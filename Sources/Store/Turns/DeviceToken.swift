import Base

/// A device token as the turns' apps send it: 64 to 400 hexadecimal digits, in lower case. Spaces
/// and angle brackets, which some apps print around it, are removed.
package struct DeviceToken: Sendable, Equatable {
  package let text: String

  package init?(_ given: String) {
    let text = Self.normalized(given)
    let isHex = text.utf8.allSatisfy { $0.hexDigitValue != nil && !$0.isUppercaseLetter }
    guard isHex, (64...400).contains(text.utf8.count) else { return nil }
    self.text = text
  }

  /// `given` in lower case, without spaces and angle brackets, whether that is a token or not.
  package static func normalized(_ given: String) -> String {
    given.filter { $0 != " " && $0 != "<" && $0 != ">" }.lowercased()
  }
}

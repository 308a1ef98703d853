/// A language of messages to people; the raw value is its tag (RFC 5646).
package enum Language: String, Sendable, CaseIterable {
  case english = "en"
  case german = "de"
  case french = "fr"
  case spanish = "es"
  case persian = "fa"

  /// The language that `Accept-Language` (RFC 9110 §12.5.4) prefers; nil if it names none of these.
  package init?(accepting field: String) {
    var best: (language: Language, weight: Int)?
    for item in field.utf8.prefix(500).split(separator: UInt8(ascii: ",")) {
      let parts = item.split(separator: UInt8(ascii: ";")).map {
        String(decoding: $0, as: UTF8.self).trimmed.lowercased()
      }
      guard let tag = parts.first?.split(separator: "-").first,
        let language = Language(rawValue: String(tag)),
        let weight = parts.count > 1 ? Self.weight(parts[1]) : 1000, weight > 0
      else { continue }
      if weight > best?.weight ?? 0 { best = (language, weight) }
    }
    guard let best else { return nil }
    self = best.language
  }

  /// `q=0.8` in thousandths; nil if it is malformed.
  private static func weight(_ text: String) -> Int? {
    guard text.hasPrefix("q=") else { return nil }
    let digits = text.dropFirst(2).filter { $0 != "." }
    guard let number = Int(digits), number >= 0, digits.count <= 4 else { return nil }
    return (digits.count..<4).reduce(number) { value, _ in value * 10 }
  }
}

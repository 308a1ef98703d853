import Base
import Cryptography

/// Encoding of texts for header fields.
enum MailHeader {
  /// `text` in ASCII: unchanged, or as encoded words (RFC 2047 §2) on folded lines.
  static func text(_ text: String) -> String {
    if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) { return text }
    var words: [String] = []
    var word: [UInt8] = []
    for scalar in text.unicodeScalars {
      let bytes = Array(String(scalar).utf8)
      // A line with an encoded word has at most 76 characters, and the word holds whole characters.
      if word.count + bytes.count > 36 {
        words.append("=?utf-8?B?\(base64Encoded(word))?=")
        word = []
      }
      word += bytes
    }
    return (words + ["=?utf-8?B?\(base64Encoded(word))?="]).joined(separator: "\n ")
  }

  /// Display name, quoted or as encoded words.
  static func phrase(_ name: String) -> String {
    let encoded = text(name)
    guard encoded == name else { return encoded }
    let quoted = name.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return "\"\(quoted)\""
  }

  /// Date and time by RFC 5322 §3.3, in UTC.
  static func dateField(_ instant: Timestamp) -> String {
    let text = instant.rfc3339
    func part(_ from: Int, _ count: Int) -> Substring { text.dropFirst(from).prefix(count) }
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let month = months[Int(part(5, 2))! - 1]
    return "\(part(8, 2)) \(month) \(part(0, 4)) \(part(11, 8)) +0000"
  }
}

import Base

extension Timestamp {
  /// For a page, like "22 November 2026, 11:05 UTC".
  var html: String { #"<time datetime="\#(rfc3339)">\#(words)</time>"# }

  private var words: String {
    let text = rfc3339
    let date = text.prefix(10).split(separator: "-")
    guard date.count == 3, let month = Int(date[1]), let day = Int(date[2]) else { return text }
    return "\(day) \(Self.months[month - 1]) \(date[0]), \(text.dropFirst(11).prefix(5)) UTC"
  }

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
  ]
}

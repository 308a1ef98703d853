import Base

extension Timestamp {
  /// HTML for the time, like "22 November 2026, 11:05 UTC".
  func html(in language: Language) -> String {
    #"<time datetime="\#(rfc3339)">\#(words(in: language))</time>"#
  }

  /// HTML for a past time, like "3 days ago", with the exact time as a tooltip.
  func html(before now: Timestamp, in language: Language) -> String {
    let span = PageTexts(in: language).ago((now - self).words(in: language))
    return #"<time datetime="\#(rfc3339)" title="\#(words(in: language))">\#(span)</time>"#
  }

  /// HTML for a future time, like "in 5 minutes", with the exact time as a tooltip.
  func html(after now: Timestamp, in language: Language) -> String {
    let span = PageTexts(in: language).ahead((self - now).words(in: language))
    return #"<time datetime="\#(rfc3339)" title="\#(words(in: language))">\#(span)</time>"#
  }

  private func words(in language: Language) -> String {
    let text = rfc3339
    let months = PageTexts(in: language).months.split(separator: " ")
    let parts = text.prefix(10).split(separator: "-")
    guard parts.count == 3, let number = Int(parts[1]), let day = Int(parts[2]) else {
      return text
    }
    let (month, year, time) = (months[number - 1], parts[0], text.dropFirst(11).prefix(5))
    let words =
      switch language {
      case .english: "\(day) \(month) \(year), \(time) UTC"
      case .german: "\(day). \(month) \(year), \(time) UTC"
      case .french: "\(day == 1 ? "1er" : "\(day)") \(month) \(year), \(time) UTC"
      case .spanish: "\(day) de \(month) de \(year), \(time) UTC"
      case .persian: "\(day) \(month) \(year)، ساعت \(time) UTC"
      }
    return language.digits(words)
  }
}

extension Duration {
  /// The duration for people, like "9 minutes".
  func words(in language: Language) -> String {
    let texts = PageTexts(in: language)
    let seconds = max(0, components.seconds)
    for (unit, size) in [(texts.days, Int64(86_400)), (texts.hours, 3600), (texts.minutes, 60)]
    where seconds >= size {
      return language.count(seconds / size, unit)
    }
    return language.count(seconds, texts.seconds)
  }
}

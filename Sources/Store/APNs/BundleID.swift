import Base

extension String {
  /// Whether the string is a bundle id by Apple's rule: 1 to 155 letters, digits, hyphens and dots.
  package var isBundleID: Bool {
    (1...155).contains(utf8.count)
      && utf8.allSatisfy { $0.isAlphanumeric || "-.".utf8.contains($0) }
  }
}

import MariaDB

/// The receiver of notifications to a push token: an app of a platform, or a browser.
package enum PushPlatform: String, Sendable, CaseIterable {
  case ios, macos, android
  /// The token names a subscription of a browser: ``PushToken/isOfBrowser``.
  case web

  /// Whether Apple issues its tokens.
  package var isApples: Bool { self == .ios || self == .macos }

  package init(_ device: DevicePlatform) {
    self =
      switch device {
      case .ios: .ios
      case .macos: .macos
      case .android: .android
      }
  }

  init(row: borrowing Row, _ column: Int) {
    self = PushPlatform(rawValue: row.text(column))!  // the column is an ENUM of these words
  }
}

import Store

extension AccountSection {
  /// The devices, each with its session if it is signed in.
  static let devices = AccountSection(of: "devices", heading: "name") {
    AccountTexts(in: $0).devices
  }

  static let browsers = AccountSection(of: "browsers", heading: "address") {
    AccountTexts(in: $0).browsers
  }

  static let passkeys = AccountSection(of: "passkeys", heading: "name") {
    AccountTexts(in: $0).passkeys
  }

  /// The events of the audit log; belongs to no family.
  static let events = AccountSection(of: "events", heading: "event") {
    AccountTexts(in: $0).events
  }
}

extension AccountData.Column {
  var name: String {
    switch self {
    case .text(let name), .time(let name), .number(let name), .flag(let name): "\(name)"
    }
  }
}

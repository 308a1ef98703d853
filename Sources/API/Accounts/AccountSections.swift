import Store

extension AccountSection {
  static let devices = AccountSection(
    of: "devices", title: "Devices", none: "No device has signed in.", heading: "name",
    facts: ["platform": "Platform", "createdAt": "Since", "lastUsedAt": "Last used"],
    removal: Removal(button: "Remove", done: "The device is removed and signed out."))

  static let sessions = AccountSection(
    of: "sessions", title: "Signed in", none: "Nobody is signed in on a device.",
    heading: "device",
    facts: ["createdAt": "Since", "refreshedAt": "Last used", "expiresAt": "Until"],
    removal: Removal(button: "Sign out", done: "The device is signed out."))

  static let browsers = AccountSection(
    of: "browsers", title: "Browsers on this page", none: "No browser is signed in.",
    heading: "address", facts: ["signedInAt": "Since", "expiresAt": "Until"],
    removal: Removal(button: "Sign out", done: "The browser is signed out."))

  static let passkeys = AccountSection(
    of: "passkeys", title: "Passkeys", none: "There are no passkeys.", heading: "name",
    facts: ["createdAt": "Since", "lastUsedAt": "Last used"],
    removal: Removal(button: "Remove", done: "The passkey is removed."))

  /// Of no family: what the audit log says.
  static let events = AccountSection(
    of: "events", title: "What happened", none: "Nothing has happened yet.", heading: "event",
    facts: ["at": "When", "detail": "Detail"])
}

extension Holding.Column {
  var name: String {
    switch self {
    case .text(let name), .time(let name), .number(let name), .flag(let name): "\(name)"
    }
  }
}
